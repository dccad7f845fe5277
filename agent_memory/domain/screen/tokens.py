"""The rule table of tokens that carry their provider in their shape; the other modules know structures."""

from agent_memory.domain.screen.locators import Locator, signs
from agent_memory.domain.screen.rules import Rule

_DASH = "-----"
LONG = 2048  # bytes of a token or key that are read


VENDOR_TOKENS: tuple[Rule, ...] = (
    Rule(
        "github-token",
        (
            Locator(
                signs("gho_ ghp_ ghr_ ghs_ ghu_ github_pat_"),
                rb"\b(?:gh[opsur]_[a-z0-9]{16,255}|github_pat_[a-z0-9_]{30,255})",
                reach=LONG,
            ),
        ),
        "a GitHub access token opens repositories",
        ("ghp_{an36}", "GHO_{an36}", "github_pat_{an22}_{an59}", "first half ghp_{an16} and second"),
        ("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "tokens start with ghp_ or github_pat_", "ghp_[A-Za-z0-9]{36}"),
    ),
    Rule(
        "gitlab-token",
        (
            Locator(
                signs("glagent- glcbt- gldt- glffct- glft- glimt- gloas- glpat- glptt- glrt- glsoat- glwt- gr1348941"),
                rb"\b(?:gl(?:pat|rt|dt|ptt|ft|soat|cbt|oas|imt|agent|ffct|wt)-[\w.-]{16,}|gr1348941[\w-]{16,})",
                reach=LONG,
            ),
        ),
        "a GitLab access, runner, deploy or trigger token",
        ("glpat-{an20}", "GLRT-{an20}"),
        ("glpat-your-token-goes-here", "the glpat- prefix"),
    ),
    Rule(
        "aws-access-key",
        (
            Locator(
                signs("abia acca akia asia"),
                rb"\b(?:akia|asia|abia|acca)[a-z0-9]{16}\b",
                reach=LONG,
            ),
        ),
        "an AWS access key id names a live key",
        ("AKIA{up16}", "asia{up16}"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA[0-9A-Z]{16}"),
    ),
    Rule(
        "slack-token",
        (
            Locator(
                signs("xapp- xox"),
                rb"\b(?:xox[a-z](?:\.xox[a-z])?-[a-z0-9-]{16,}|xapp-\d-[a-z0-9-]{16,})",
                reach=LONG,
            ),
        ),
        "a Slack bot, user or app token",
        ("xoxb-{dig12}-{dig12}-{an24}", "xapp-1-{up11}-{dig13}-{hex64}"),
        ("xoxb-your-token-here", "xox[baprs]-"),
    ),
    Rule(
        "sk-key",
        (
            Locator(
                signs("sk-"),
                rb"\bsk-[\w-]{16,}",
                reach=LONG,
            ),
        ),
        "the `sk-` shape that model providers and their proxies share",
        ("sk-proj-{an48}", "sk-ant-api03-{an80}", "SK-{an32}", "sk-or-v1-{hex64}"),
        ("sk-your-key-here-0123456789", "sk-chasing-dot-before-animation-2", "sk-..."),
    ),
    Rule(
        "model-key",
        (
            Locator(
                signs("absk bsk- csk- e2b_ fw_ gsk_ hf_ jina_ lsv2_ nvapi- pplx- r8_ tgp_v1_ tvly- xai-"),
                rb"\b(?:hf_[a-z0-9]{24,}|gsk_[a-z0-9]{30,}|xai-[a-z0-9]{30,}|r8_[a-z0-9]{30,}|pplx-[a-z0-9]{30,}|"
                rb"nvapi-[\w-]{40,}|tgp_v1_[\w-]{30,}|csk-[a-z0-9]{30,}|jina_[\w-]{40,}|lsv2_(?:pt|sk)_[\w-]{30,}|"
                rb"tvly-[\w-]{20,}|absk[a-z0-9+/]{60,}|fw_[a-z0-9]{20,}|e2b_[a-z0-9]{30,}|bsk-[a-z0-9]{24,})",
                reach=LONG,
            ),
        ),
        "a key of a hosted model or search service",
        ("hf_{an34}", "gsk_{an52}", "xai-{an80}", "nvapi-{an64}", "lsv2_pt_{hex32}_{hex10}"),
        ("hf_model_download_cache_directory", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ),
    Rule(
        "google-key",
        (
            Locator(
                signs("1//0 aiza gocspx- ya29."),
                rb"\b(?:aiza[\w-]{30,}|gocspx-[\w-]{16,}|ya29\.[\w-]{20,}|1//0[\w-]{24,})",
                reach=LONG,
            ),
        ),
        "a Google API key, client secret or OAuth token",
        ("AIza{an35}", "GOCSPX-{an28}", "ya29.{an60}", "1//0{an60}"),
        ("AIza[0-9A-Za-z_-]{35}",),
    ),
    Rule(
        "payment-key",
        (
            Locator(
                signs(
                    "access_token$ eaaa flwseck rk_live_ rk_prod_ rk_test_ rzp_ shippo_ "
                    "sk_live_ sk_prod_ sk_test_ sq0atp- sq0csp- whsec_"
                ),
                rb"\b(?:(?:sk|rk)_(?:live|test|prod)_[a-z0-9]{10,}|whsec_[\w+/=]{20,}|sq0(?:atp|csp)-[\w-]{20,}|"
                rb"rzp_(?:live|test)_[a-z0-9]{12,}|access_token\$(?:production|sandbox)\$[\w$]{20,}|"
                rb"flwseck(?:_test)?-[\w-]{20,}|shippo_(?:live|test)_[a-z0-9]{30,}|eaaa[\w-]{56,})",
                reach=LONG,
            ),
        ),
        "a secret key of a payment provider, test mode included",
        ("sk_live_{an24}", "rk_test_{an24}", "whsec_{an32}", "rzp_live_{an14}"),
        ("sk_live_your_key_here", "pk_live_{an24}"),
    ),
    Rule(
        "registry-token",
        (
            Locator(
                signs("cio clojars_ cloudsmith_ dckr_ nfp_ npm_ oy2 pul- pypi- rubygems_"),
                rb"\b(?:npm_[a-z0-9]{24,}|pypi-[\w-]{40,}|dckr_(?:pat|oat)_[\w-]{20,}|rubygems_[a-f0-9]{40,}|"
                rb"cio[a-z0-9]{32}\b|"
                rb"oy2[a-z0-9]{43}\b|clojars_[a-f0-9]{50,}|pul-[a-f0-9]{40}|nfp_[a-z0-9]{30,}|cloudsmith_[a-z0-9]{30,})",
                reach=LONG,
            ),
        ),
        "a token that publishes packages or images",
        ("npm_{an36}", "pypi-AgEIcHlwaS5vcmc{an80}", "dckr_pat_{an27}", "rubygems_{hex48}", "cio{an32}"),
        ("npm_config_registry_authentication_token", "npm_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ),
    Rule(
        "mail-key",
        (
            Locator(
                signs("sg. key- xkeysib- re_"),
                rb"\b(?:sg\.[\w-]{16,}\.[\w-]{16,}|key-[a-f0-9]{32}\b|"
                rb"xkeysib-[a-f0-9]{64}-[a-z0-9]{10,}|re_[a-z0-9]{6,10}_[a-z0-9]{18,})",
            ),
            Locator(("-us",), rb"-us\d{1,2}\b", rb"[a-f0-9]{32}\b"),
        ),
        "a key of a mail or message service",
        ("SG.{an22}.{an43}", "key-{hex32}", "{hex32}-us14", "SK{hex32}", "re_{an8}_{an24}"),
        ("primary-key-of-the-table",),
        shape=rb"\bsk[a-f0-9]{32}\b",
    ),
    Rule(
        "telegram-bot-token",
        (),
        "a Telegram bot token",
        ("5{dig9}:AA{an33}", "https://api.telegram.org/bot5{dig9}:AA{an33}/getMe"),
        ("1718000000:2024-06-10 started",),
        shape=rb"\b(?:bot)?\d{8,10}:[\w-]{33,38}\b-?",
    ),
    Rule(
        "discord-bot-token",
        (),
        "a Discord bot token",
        ("M{an25}.G{an5}.{an38}",),
        (),
        shape=rb"\.[a-z0-9_-]{6}\.[a-z0-9_-]{27,45}",
        before=rb"[a-z0-9_-]{22,27}(?-i:[MNO])(?![a-z0-9_])",
    ),
    Rule(
        "saas-token",
        (
            Locator(
                signs(
                    "hvs. hvb. hvr. dp. ops_eyj doo_v1_ dop_v1_ dor_v1_ tskey- dapi figd_ pmak- sbp_ sb_secret_ "
                    "pat-na pat-eu pat-ap atatt3 atctt3 atbb lin_ ntn_ secret_ shpat_ shpca_ shppa_ shpss_ shpua_ "
                    "glsa_ glc_ nrak- nrii- nraa- sntrys_ sntryu_ phx_ eaa pscale_ dt0 ltai akid hrku- fm0_ fm1_ fm2_ "
                    "fm3_ fm4_ fm5_ fm6_ fm7_ fm8_ fm9_ cfpat- bkua_ ccipat_ sl. tfp_ sqp_ squ_ ory_ v1.0- nsec1 "
                    "xprv age-secret-key- sk.eyj duffel_ rnd_ ghost_ atlasv1. cmvmdg 0x4aaaaaaa ak_ pk_ api- rk- sg_ "
                    "sgp_ zpka_ vercel_ cf ddapi_ tk_ waka_"
                ),
                rb"\b(?:hv[sbr]\.[\w-]{20,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[a-z0-9]{20,}|ops_eyj[\w-]{40,}|"
                rb"do[opr]_v1_[a-f0-9]{40,}|"
                rb"tskey-[a-z]+-[\w-]{16,}|dapi[a-f0-9]{32}|figd_[\w-]{30,}|pmak-[a-f0-9]{24}-[a-f0-9]{34}|sbp_[a-f0-9]{40}|"
                rb"sb_secret_[\w-]{20,}|pat-(?:na|eu|ap)\d-[a-f0-9-]{36}|at(?:att|ctt)3[\w=-]{40,}|atbb[a-z0-9]{28,}|"
                rb"lin_(?:api|oauth)_[a-z0-9]{30,}|ntn_[a-z0-9]{40,}|secret_[a-z0-9]{40,}|shp(?:at|ca|pa|ss|ua)_[a-f0-9]{32}|"
                rb"glsa_[a-z0-9]{32}_[a-f0-9]{8}|glc_[a-z0-9+/=]{40,}|nr(?:ak|ii|aa)-[\w-]{20,}|sntry[su]_[\w+/=-]{40,}|"
                rb"phx_[a-z0-9]{30,}|eaa[a-z]{1,3}[a-z0-9]{60,}|pscale_(?:tkn|pw|oauth)_[\w-]{30,}|"
                rb"dt0[a-z]\d\d\.[a-z0-9]{20,}|"
                rb"ltai[a-z0-9]{14,22}\b|akid[a-z0-9]{32}\b|hrku-[\w-]{30,}|fm\d_[\w+/=-]{40,}|cfpat-[\w-]{40,}|"
                rb"bkua_[a-f0-9]{40}|"
                rb"ccipat_[\w-]{40,}|sl\.[\w-]{60,}|tfp_[\w-]{40,}|sqp_[a-f0-9]{40}|"
                rb"squ_[a-f0-9]{40}|"
                rb"ory_[a-z]{2}_[\w-]{40,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|nsec1[a-z0-9]{50,}|"
                rb"xprv[a-z0-9]{100,}|age-secret-key-[a-z0-9]{50,}|sk\.eyj[\w-]+\.[\w-]{20,}|duffel_(?:live|test)_[\w-]{40,}|"
                rb"rnd_[a-z0-9]{28,}|ghost_[a-z0-9]{40,}|atlasv1\.[\w-]{60,}|"
                rb"cmvmdg[a-z0-9+/=_-]{40,}|0x4aaaaaaa[\w-]{20,}|ak_[a-z0-9]{40,}|pk_[0-9]{6,10}_[a-z0-9]{32}|"
                rb"api-[a-f0-9]{64}|rk-[a-z0-9]{40,}|sg_[a-z0-9]{40,}|sgp_[a-f0-9_]{40,}|shpss_[a-f0-9]{32}|"
                rb"zpka_[a-z0-9_]{30,}|"
                rb"vercel_[a-z0-9]{24,}|cf[a-z]{2,3}_[a-z0-9]{40,}|ddapi_[a-z0-9]{30,}|tk_[a-z0-9]{30,}|waka_[a-f0-9-]{36})",
                reach=LONG,
                cost=1.8,
            ),
            Locator(("q~",), rb"q~[\w~.-]{30,36}", rb"\d[\w~.-]{3}"),
        ),
        "a token in the shape of a well-known hosted service",
        ("hvs.{an90}", "dop_v1_{hex64}", "tskey-auth-{an17}-{an32}", "dapi{hex32}", "shpat_{hex32}", "lin_api_{an40}"),
        ("secret_scanning_push_protection_enabled_for_all_repos", "sl.txt"),
        shape=rb"\bpat[a-z0-9]{14}\.[a-f0-9]{64}",
    ),
)

SHARED_SHAPES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        (
            Locator(
                ("begin ",),
                rb"(?:(?<=--)|(?<=-- ))begin [a-z0-9 ]{0,40}(?:private|secret|static) key[a-z0-9 ]{0,12} ?-{2,5}"
                rb"(?>[a-z-]+: [^\n]*\n|#[^\n]*\n|[^a-z0-9+/#]++|#){0,40}+[a-z0-9+/]{16,}",
                reach=LONG,
                cost=12,
            ),
        ),
        "a block of private key material",
        (
            _DASH + "BEGIN PRIVATE KEY" + _DASH + "\n{b6464}",
            _DASH + "BEGIN PGP PRIVATE KEY BLOCK" + _DASH + "\nVersion: GnuPG v2\n\n{b6464}",
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{b6464}",
            _DASH + "BEGIN OpenVPN Static key V1" + _DASH + "\n{hex32}\n{hex32}",
        ),
        (
            _DASH + "BEGIN PUBLIC KEY" + _DASH + "\n{b6464}",
            "a file that starts with " + _DASH + "BEGIN PRIVATE KEY" + _DASH + " is a key",
            _DASH + "BEGIN CERTIFICATE" + _DASH + "\n{b6464}",
        ),
        vendor=False,
    ),
    Rule(
        "private-key-end",
        (
            Locator(
                ("end ",),
                rb"end [a-z0-9 ]{0,40}(?:private|secret) key",
                rb" ?-{4,5}\s*+[a-z0-9+/=]{16,}",
            ),
        ),
        "the end of a block of private key material",
        ("{b6464}\n" + _DASH + "END RSA PRIVATE KEY" + _DASH,),
        ("{b6464}\n" + _DASH + "END CERTIFICATE" + _DASH,),
        vendor=False,
    ),
    Rule(
        "private-key-body",
        (
            Locator(
                signs("b3blbnnzac1rzxktdjea mig mih mii"),
                rb"(?-i:\bMII[A-Za-z0-9+/]{2,5}(?:IBADANBgkqhkiG9w0BAQEFAASC|AgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg)"
                rb"|\bMI[GH][A-Za-z0-9+/]{1,4}AgEAMB[AM][A-Za-z0-9+/]{20,}|\bb3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/]{20,}"
                rb"|\bMII[A-Za-z0-9+/]{2,6}IBAAKCA[Q-g]EA[A-Za-z0-9+/]{20,})",
                reach=LONG,
            ),
        ),
        "the first bytes of private key material, its header lost",
        ("b3BlbnNzaC1rZXktdjEA{b6440}", "MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC{b6440}"),
        ("MIIDdzCCAl+gAwIBAgIE{b6440}",),
        vendor=False,
    ),
    Rule(
        "putty-key",
        (
            Locator(
                signs("private-lines:"),
                rb"private-lines: ?\d{1,4}\s+[a-z0-9+/=]{16,}",
                reach=LONG,
            ),
        ),
        "the private part of a PuTTY key file",
        ("Private-Lines: 1\n{b6448}",),
        ("Public-Lines: 2\n{b6448}",),
        vendor=False,
    ),
    Rule(
        "private-jwk",
        (
            Locator(
                ("kty",),
                rb"kty\"?\s{0,20}[:=][^{}]*\"(?:d|k|p|q)\"\s{0,20}:\s{0,20}\"[\w-]{20,}\"",
                reach=LONG,
                cost=24,
            ),
            Locator(('"d"', '"k"'), rb"\"(?:d|k)\"\s{0,20}:\s{0,20}\"[\w-]{20,}\"[^{}]*\"kty\"", reach=LONG, cost=24),
        ),
        "a JSON web key with its private part",
        ('{"kty": "OKP", "crv": "Ed25519", "x": "{an43}", "d": "{an43}"}',),
        ('{"kty": "OKP", "crv": "Ed25519", "kid": "2024", "x": "{an43}"}',),
        vendor=False,
    ),
    Rule(
        "jwt",
        (
            Locator(
                signs("eyj"),
                rb"(?-i:\beyJ[\w-]{8,}+\.[\w-]*+\.[\w-]{8,})|\beyj[\w-]{16,}+\.eyj[\w-]{8,}+\.[\w-]{8,}|"
                rb"\beyj[\w-]*+()",
                reach=LONG,
            ),
        ),
        "a signed or encrypted JSON web token opens what it was made for",
        ("eyJhbGciOiJIUzI1NiJ9.eyJ{an40}.{an43}", "eyJhbGciOiJSU0EifQ.{an40}.{an16}.{an40}.{an22}"),
        ("eyJ[\\w-]+\\.[\\w-]+", "header.payload.signature", "eyJhZnRlciI6IDE0MDAsICJkaXIiOiAibmV4dCJ9"),
        vendor=False,
    ),
    Rule(
        "password-hash",
        (
            Locator(
                signs(
                    "$1$ $2a$ $2b$ $2x$ $2y$ $5$ $6$ $7$ $apr1$ "
                    "$argon2 $scrypt$ $y$ pbkdf2_sha256$ scram-sha-256$ {sha {ssha"
                ),
                rb"\$(?:2[abxy]|apr1|[156y]|argon2(?:id|i|d)|scrypt|7)\$[a-z0-9./$=,+]{20,}|"
                rb"scram-sha-256\$\d+:[a-z0-9+/=]{10,}\$[a-z0-9+/=:]{20,}|\{s?sha(?:256|512)?\}[a-z0-9+/]{24,}=*|"
                rb"pbkdf2_sha256\$\d+\$[\w+/=]+\$[a-z0-9+/=]{30,}",
                reach=LONG,
            ),
        ),
        "a stored password hash can be guessed back",
        ("$2b$12${an53}", "admin:$apr1${an8}${an22}", "root:$6${an16}${an86}:19000:"),
        ("$1 and $2 are the arguments", "the $2b$ prefix means bcrypt"),
        vendor=False,
    ),
    Rule(
        "prefixed-token",
        (),
        "a short prefix, an underscore and a long random string: how providers write tokens now",
        ("acme_live_{an40}", "zz9_{an32}"),
        ("test_secret_key_rotation_keeps_old_sessions", "pk_live_{an32}", "cus_{an14}"),
        vendor=False,
        shape=rb"(?-i:\b[A-Za-z][A-Za-z0-9]{1,11}[_-](?:[a-z0-9]{1,8}[_-])?[A-Za-z0-9]{28,}\b)",
    ),
    Rule(
        "license-key",
        (),
        "five groups of five: a licence or product key",
        ("{up5}-{up5}-{up5}-{up5}-{up5}",),
        ("XXXXX-XXXXX-XXXXX-XXXXX-XXXXX",),
        vendor=False,
        shape=rb"(?-i:\b[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}\b)",
    ),
)
