"""What a name promises: judges `access_token`, `apiKey` or `session_count` by its words; leaves values to "
"`values`."""

import enum
import functools
import re

from agent_memory.domain.screen.words import word_set


class Promise(enum.IntEnum):
    """How much a name says about the value beside it."""

    NOTHING = 0  # author, session_count, public_key
    PERHAPS = 1  # key, code, auth: only a random value beside it is a secret
    KEY = 2  # token, api_key: a value that is not plainly a word is a secret
    PASSWORD = 3  # password, passphrase: any stated value is a secret, however weak


# Latin-script words that name a password by themselves, in the languages the screen reads.
PASSWORDS = word_set(
    "password passwd passe passwort passwords passphrase passcode pass pwd pw psk userpass rootpass kennwort "
    "losungswort kennwörter wachtwoord contraseña contrasena clave senha motdepasse mdp hasło haslo lösenord "
    "adgangskode parola heslo şifre salasana jelszó parole passord lozinka geslo parool κωδικός пароль пароля "
    "密码 密碼 口令 密語 パスワード 暗証番号 비밀번호 암호 passwordsecret"
)
KEYS = word_set(
    "secret token apikey secretkey accesskey privatekey privkey appkey nwkkey irk ltk samlresponse authtoken "
    "accesstoken refreshtoken sessiontoken idtoken clientsecret credential credentials creds jwt bearer "
    "sessionid sid phpsessid jsessionid authkey authkeys signingkey encryptionkey masterkey sharedkey "
    "presharedkey jeton geheimnis segredo sekret токен секрет 密钥 密鑰 秘钥 令牌 凭证 トークン 秘密鍵 "
    "アクセスキー 토큰 비밀키 apptoken bottoken usertoken csrftoken xsrftoken csrf xsrf pat appid "
    "authentication"
)
PERHAPS = word_set(
    "key auth authorization login hmac otp totp seed code cookie session dsn webhook pin puk keys sso saml "
    "remember schlüssel schluessel clé cle chave llave klucz ключ 키 鍵 hook access oauth mfa"
)
_PINS = word_set("pin puk pincode doorcode")
# Words before "key" that make it a credential, and those that make it a plain noun.
_KEY_OWNERS = word_set(
    "api access secret private auth master account app application encryption encrypt decryption signing sign "
    "shared preshared client license licence storage service admin root deploy ssh gpg pgp hmac jwt aes crypto "
    "consumer subscription function functions session validation machine write ingest integration bot security "
    "recovery wpa wifi wlan network tls ssl vapid personal pre root product activation sas authtoken host "
    "webhook rest rpc server developer dev control zigbee local luks dsn partner merchant transaction data "
    "field fernet django flask rails symmetric backup unlock"
)
_PLAIN_OWNERS = word_set(
    "public pub primary foreign sort partition cache row composite unique index lookup group object map dict "
    "hash hot arrow shift enter escape return i18n translation message lang locale idempotency dedup routing "
    "config ref registry natural surrogate candidate record bucket shard range translate label json dictionary "
    "publishable known websocket socket s3 blob chunk file page event entity node etag content artifact image "
    "build commit digest checksum job trace span dedupe"
)
_PLAIN_TOKEN_OWNERS = word_set(
    "page next prev previous continuation pagination sync cursor pad bos eos unk cls sep mask stop max min "
    "special start end prompt completion total num input output count per context budget syntax unexpected "
    "lexer parser delimiter operator image design color"
)
# A last word that makes the name speak about a credential instead of holding one.
_TAILS = word_set(
    "count counts type types name names date enabled disabled expires expiry expiration expire exp length len "
    "limit limits hint method methods file files path paths url uri urls endpoint ttl sha256 sha1 sha512 md5 "
    "digest fingerprint policy field fields env var variable header headers version prefix suffix budget max "
    "min size id ids at index label title description placeholder regex pattern format store manager service "
    "provider helper hook scanning scan rotation reset algorithm algo alg strength required optional mode "
    "timeout age status state error errors message generator factory class filter validator parser source "
    "scope scopes arn ref refs reference location map usage used cost costs rate price window bucket attempts "
    "attempt history page form input prompt command cmd dir directory folder lifetime duration interval valid "
    "invalid visible visibility changed updated created set uses owner user users username realm issuer "
    "audience protected protection needed present exists check checks checker verify verified verification "
    "encoder hasher hashed hash encoding encryption limiter endings ending begin starts start ends column "
    "columns table model models schema view views test tests spec docs doc icon button dialog modal screen "
    "length_min words word agent agents kind order sort vault lookup loader server host port domain region "
    "category bits curve usages ops handler listener binding code_challenge challenge session_count strategy "
    "backend driver group groups role roles tag tags list entry item items"
)
# Last words that say nothing, so that the word before them decides.
NEUTRAL = word_set(
    "value values text string str plain plaintext data b64 base64 raw prod production dev development staging "
    "live test old new current default base main primary secondary backup hex env1 literal val confirm "
    "confirmation again repeat"
)
_HARD_ENDINGS = tuple(sorted(PASSWORDS | {"secret", "token", "apikey", "secretkey", "accesskey", "privatekey"}))
_GLUED_ENDINGS = (*_HARD_ENDINGS, "sessid", "sessionid", "session")
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-öø-ÿąćęłńóśźż]+|[^\W\d_A-Za-z]+")


@functools.lru_cache(maxsize=4096)  # ordinary source repeats a few hundred names
def words_of(name: str) -> tuple[str, ...]:
    """Lower-case words of a name written in any case style; digits are left out."""
    return _words(name)


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _SPLIT.findall(name))


@functools.lru_cache(maxsize=4096)
def promise(name: str, *, in_url: bool = False) -> Promise:
    """What the words of a name promise about its value.

    Args:
      name: an identifier, header, parameter or key of at most a few words, in any case style.
      in_url: the name is a URL parameter, where `sig` and `signature` are credentials and not release signatures.
    """
    words = list(words_of(name))
    while len(words) > 1 and words[-1] in NEUTRAL:
        words.pop()
    if not words:
        return Promise.NOTHING
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if before + last in ("sessionid", "sessid", "sesskey"):
        return Promise.KEY
    if in_url and last in ("sig", "signature", "sas"):
        return Promise.KEY
    if in_url and last == "auth":
        return Promise.KEY
    if before == "key" and last in ("secret", "base", "pem"):
        return Promise.KEY
    if before == "saml" and last == "response":
        return Promise.KEY
    if before in ("wlan", "wifi", "fi", "wpa", "wpa2") and last in ("schlüssel", "schluessel", "key", "code"):
        return Promise.PASSWORD
    if last in _TAILS:
        return Promise.NOTHING
    return _of_last_word(last, before, words)


def _of_last_word(last: str, before: str, words: list[str]) -> Promise:
    if last in PASSWORDS:
        return Promise.NOTHING if before in ("forgot", "reset", "change", "no") else Promise.PASSWORD
    if last in _PINS:
        return Promise.PERHAPS
    if "public" in words and last in ("key", "keys", "token"):
        return Promise.NOTHING
    if last in ("key", "keys") and before:
        if before in _PLAIN_OWNERS:
            return Promise.NOTHING
        return Promise.KEY if before in _KEY_OWNERS or before in KEYS or before in PASSWORDS else Promise.PERHAPS
    if last in KEYS:
        return Promise.NOTHING if before in _PLAIN_TOKEN_OWNERS else Promise.KEY
    if last in PERHAPS:
        return Promise.PERHAPS
    return _of_glued(last)


def _of_glued(word: str) -> Promise:
    """A name written in one piece: `dbpassword`, `clientsecret`, `wifipsk`."""
    if not word.endswith(_GLUED_ENDINGS):
        return Promise.NOTHING
    for ending in _HARD_ENDINGS:
        if len(ending) >= 3 and word.endswith(ending) and word[: -len(ending)] not in ("com", "by", "tres", "over"):
            if len(ending) < 5 and len(word) - len(ending) < 2:
                continue
            return Promise.PASSWORD if ending in PASSWORDS else Promise.KEY
    if word.endswith(("sessid", "sessionid", "session")):
        return Promise.KEY if word.endswith("id") else Promise.PERHAPS
    return Promise.NOTHING


def is_pin(name: str) -> bool:
    """Whether the name is that of a number code, so that four to eight digits beside it are the secret."""
    words = words_of(name)
    return bool(words) and (words[-1] in _PINS or (words[-1] in ("code", "number") and "pin" in words))


def is_plainly_owned(phrase: str) -> bool:
    """Whether a phrase such as "primary key" or "page token" names no credential, by the word before its last."""
    words = _words(phrase)  # each phrase is another, and some of what stands beside it: nothing to keep
    before, last = words[-2:] if len(words) > 1 else ("", words[-1] if words else "")
    if last in ("key", "keys"):
        return before in _PLAIN_OWNERS
    return last in ("token", "tokens") and before in _PLAIN_TOKEN_OWNERS
