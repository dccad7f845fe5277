"""The words that announce a credential, as RE2 alternations over UTF-8 bytes, for the locators of every structure."""

import re


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set to look up in."""
    return frozenset(text.split())


# Substrings of names, for `name = value`. Case is folded for ASCII only, so other scripts list both cases; `pat` is no
# path and no pattern.
_IN_NAMES = (
    "pass|pwd|pw|psk|secret|token|key|auth|cred|pin|puk|otp|sid|sess|cookie|sig|sas|jwt|seed|mnemonic|"
    "code|login|appid|bearer|dsn|kennw|contrase|clave|senha|chave|segredo|mdp|jeton|clé|wachtwoord|"
    r"sleutel|hasł|haslo|klucz|lösenord|csrf|xsrf|pat(?:s?\b|[_0-9])|saml|irk|ltk|webhook|geheim|schlüssel|schluessel|"
    "heslo|parola|access|пароль|Пароль|ПАРОЛЬ|ключ|Ключ|токен|Токен|секрет|密码|密碼|口令|密钥|密鑰|"
    "秘钥|令牌|凭证|パスワード|暗証|トークン|鍵|キー|비밀번호|암호|토큰|키"
)
# Words of prose that announce a password: any stated value after them is refused.
ANNOUNCE_STRONGLY = (
    r"password|passwd|passwort|passphrase|passcode|pass-phrase|pw|pwd|psk|kennwort|losungswort|wachtwoord|"
    r"contraseñ?a|"
    r"contrasena|senha|palavra-passe|hasł[oa]|haslo|lösenord|adgangskode|parola|mots?[ -]de[ -]passe|mdp|clave|"
    r"wi-?fi[ -](?:key|code)|wlan[ -]?schl(?:ü|ue)ssel|network[ -]key|wpa2?[ -]key|пароль|Пароль|ПАРОЛЬ|пароля|"
    r"şifre|salasana|jelszó|parole|heslo|passord|lozinka|geslo|parool|mật khẩu|kata sandi|Κωδικός|κωδικός|"
    r"รหัสผ่าน|كلمة المرور|كلمة السر|סיסמה|पासवर्ड|密码|密碼|口令|密語|パスワード|暗証番号|비밀번호|암호"
)
_KEY_PHRASES = (
    r"api[ _-]?keys?|(?:access|secret|private|signing|encryption|master|auth|license|licence|account|shared|"
    r"root|admin|"
    r"deploy|service|client|consumer|storage|webhook|pre-?shared)[ _-]?(?:access[ _-]?)?key|token|secret|"
    r"credentials?|"
    r"(?:geheim|api-|zugangs|zugriffs)?schl(?:ü|ue)ssel|clé|jeton|chave|llave|segredo|secreto|chiave|sleutel|klucz|"
    r"ключ|Ключ|токен|Токен|секрет|(?-i:PATs?\b)|密钥|密鑰|秘钥|令牌|トークン|秘密鍵|APIキー|비밀키|토큰|"
    r"key|login|creds|zugangsdaten|账号|帐号|account"
)
_CODE_PHRASES = (
    r"\bpin(?:[ -]?code)?|\bpuk|(?:door|gate|alarm|safe|lock|garage|entry|access|security|disarm|keypad|"
    r"voicemail|unlock|"
    r"sim|entrance|house|panel|pairing|setup|homekit|matter)[ -]?(?:code|combination|combo)|(?:tür|tor|"
    r"alarm|tresor|zugangs|sicherheits)-?code|code pin|"
    r"código|codice|人机码|门锁码|暗証"
)


def _bytes(pattern: str) -> bytes:
    return pattern.encode()


IN_NAMES: bytes = _bytes("(?:" + _IN_NAMES + ")")
PASSWORD: bytes = _bytes("(?:" + ANNOUNCE_STRONGLY + ")")
ANNOUNCED: bytes = _bytes("(?:" + ANNOUNCE_STRONGLY + "|" + _KEY_PHRASES + "|" + _CODE_PHRASES + ")")

# The same for windows already decoded to text.
PASSWORD_TEXT = re.compile("(?i)(?<![a-z])(?:" + ANNOUNCE_STRONGLY + r")(?![a-z]{3})")
CODE_TEXT = re.compile("(?i)(?:" + _CODE_PHRASES + ")$")
# Words that a passphrase or a seed phrase does not hold, and policy prose does.
STOP_WORDS = word_set(
    "the and for with are was has its into from must should not be is a an of to in on at or as by your our it "
    "if der die das und ist nicht mit ein eine im am le la les et est pas un une de du el los y es no una del "
    "o os da per il di che при и не на для"
)
