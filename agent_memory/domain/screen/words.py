"""The words that announce a credential: as signs and patterns of locators, and as sets to look up in."""

import re

from agent_memory.domain.screen.locators import backwards, ended, signs


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set to look up in."""
    return frozenset(text.split())


# Substrings of names, for `name = value`. Case is folded for ASCII only, so other scripts list both cases.
_NAMES = (
    "pass pwd psk secret token key authoriz authentic cred cookie jwt seed mnemonic login appid bearer dsn kennw "
    "contrase clave senha chave segredo mdp jeton clé wachtwoord sleutel hasł haslo klucz lösenord csrf xsrf saml "
    "webhook geheim schlüssel schluessel heslo parola access sess signature pincode пароль Пароль ПАРОЛЬ ключ Ключ "
    "токен Токен секрет 密码 密碼 口令 密钥 密鑰 秘钥 令牌 凭证 パスワード 暗証 トークン 鍵 キー "
    "비밀번호 암호 토큰 키"
)
# Signs of names.
IN_NAMES = (*signs(_NAMES), *ended("auth code pw pin puk otp sid sig sas pat pats irk ltk"))
NAMED = rb"(?!(?:(?<=<)|(?<=</))code\b)"  # what a name begins with; the tags of HTML are no code of anything
# Words of prose that announce a password: any stated value after them is refused.
ANNOUNCE_STRONGLY = (
    r"password|passwd|passwort|passphrase|passcode|pass-phrase|pw|pwd|psk|kennwort|losungswort|wachtwoord|"
    r"contraseñ?a|"
    r"contrasena|senha|palavra-passe|hasł[oa]|haslo|lösenord|adgangskode|parola|mots?[ -]de[ -]passe|mdp|clave|"
    r"wi-?fi[ -](?:key|code)|wlan[ -]?schl(?:ü|ue)ssel|network[ -]key|wpa2?[ -]key|пароль|Пароль|ПАРОЛЬ|пароля|"
    r"şifre|salasana|jelszó|parole|heslo|passord|lozinka|geslo|parool|mật khẩu|kata sandi|Κωδικός|κωδικός|"
    r"รหัสผ่าน|كلمة المرور|كلمة السر|סיסמה|पासवर्ड|密码|密碼|口令|密語|パスワード|暗証番号|비밀번호|암호"
)
_KEY_OWNERS = (
    "access|secret|private|signing|encryption|master|auth|license|licence|account|shared|root|admin|deploy|service|"
    "client|consumer|storage|webhook|preshared|pre-shared"
)
_KEY_PHRASES = (
    rf"api[ _-]?keys?|(?:{_KEY_OWNERS})[ _-]?(?:access[ _-]?)?key|token|secret|"
    r"credentials?|"
    r"(?:geheim|api-|zugangs|zugriffs)?schl(?:ü|ue)ssel|clé|jeton|chave|llave|segredo|secreto|chiave|sleutel|klucz|"
    r"ключ|Ключ|токен|Токен|секрет|(?-i:PATs?\b)|密钥|密鑰|秘钥|令牌|トークン|秘密鍵|APIキー|비밀키|토큰|"
    r"key|login|creds|zugangsdaten|账号|帐号|account"
)
_CODE_OWNERS = (
    "door|gate|alarm|safe|lock|garage|entry|access|security|disarm|keypad|voicemail|unlock|sim|entrance|house|panel|"
    "pairing|setup|homekit|matter"
)
_CODE_OWNERS_DE = "tür|tor|tresor|zugangs|sicherheits"
_CODE_PHRASES = (
    rf"\bpin(?:[ -]?code)?|\bpuk|(?:{_CODE_OWNERS})[ -]?(?:code|combination|combo)|(?:{_CODE_OWNERS_DE})-?code|"
    r"code pin|"
    r"código|codice|人机码|门锁码|暗証"
)

PASSWORD: bytes = f"(?:{ANNOUNCE_STRONGLY})".encode()
ANNOUNCED: bytes = f"(?:{ANNOUNCE_STRONGLY}|{_KEY_PHRASES}|{_CODE_PHRASES})".encode()
# Signs of the same words: letters alone, other scripts and phrases, and what may stand before some. A sign may be more
# than its word: the judge reads the words.
ANNOUNCE_WORDS = (
    *signs(
        "passwor passwd passphrase passcode passord pwd psk kennwort losungswort wachtwoord senha haslo "
        "adgangskode parol parool mdp clave salasana heslo lozinka geslo token secret credential schluessel "
        "jeton chave llave segredo chiave sleutel klucz login creds zugangsdaten account codice"
    ),
    *ended("pw pws pat pats pin pins puk puks"),
)
ANNOUNCE_OTHERS = (
    *signs(
        "pass-phrase palavra-p contrase hasł lösenord пароль Пароль ПАРОЛЬ пароля şifre jelsz Κωδικός κωδικός รหัสผ่าน "
        "סיסמה पासवर्ड 密码 密碼 口令 密語 パスワード 暗証 비밀번호 암호 schlüssel clé ключ Ключ токен Токен секрет "
        "密钥 密鑰 秘钥 令牌 トークン 秘密鍵 비밀키 토큰 apiキー 账号 帐号 código 人机码 门锁码 "
        "pincode pin-code wlanschl wlan-schl"
    ),
    *(f"{wifi}{gap}{what}" for wifi in ("wifi", "wi-fi") for gap in " -" for what in ("key", "code")),
    "wlan schl",
    "mot de",
    "mots de",
    "mot-de",
    "mots-de",
    "network key",
    "network-key",
    "wpa key",
    "wpa-key",
    "mật khẩu",
    "kata sandi",
    "كلمة",
)
KEY_OWNER = (
    rb"(?:[ _-]?(?:"
    + backwards("api")
    + rb"|(?:"
    + backwards("access")
    + rb"[ _-]?)?"
    + backwards(_KEY_OWNERS)
    + rb"))?"
)
# Owner and code together: of the texts that hold "code" few speak about one.
OWNED_CODES = tuple(
    f"{owner}{gap}{code}"
    for owner in f"{_CODE_OWNERS}|{_CODE_OWNERS_DE}".split("|")
    for gap in ("", " ", "-")
    for code in ("code", "comb")
)

# The same for windows already decoded to text.
PASSWORD_TEXT = re.compile("(?i)(?<![a-z])(?:" + ANNOUNCE_STRONGLY + r")(?![a-z]{3})")
CODE_TEXT = re.compile("(?i)(?:" + _CODE_PHRASES + ")$")
# Words that a passphrase or a seed phrase does not hold, and policy prose does.
STOP_WORDS = word_set(
    "the and for with are was has its into from must should not be is a an of to in on at or as by your our it "
    "if der die das und ist nicht mit ein eine im am le la les et est pas un une de du el los y es no una del "
    "o os da per il di che при и не на для"
)
