"""The rule table of tokens that carry their provider in their shape; structure alone is the work of `sites`."""

from agent_memory.domain.screen.rules import Rule

_DASH = "-----"

VENDOR_TOKENS: tuple[Rule, ...] = (
    Rule(
        "github-token",
        r"\b(?:gh[opsur]_[a-z0-9]{16,255}|github_pat_[a-z0-9_]{30,255})",
        "a GitHub access token opens repositories",
        ("ghp_{an36}", "GHO_{an36}", "github_pat_{an22}_{an59}", "first half ghp_{an16} and second"),
        ("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "tokens start with ghp_ or github_pat_", "ghp_[A-Za-z0-9]{36}"),
    ),
    Rule(
        "gitlab-token",
        r"\b(?:gl(?:pat|rt|dt|ptt|ft|soat|cbt|oas|imt|agent|ffct|wt)-[\w.-]{16,}|gr1348941[\w-]{16,})",
        "a GitLab access, runner, deploy or trigger token",
        ("glpat-{an20}", "GLRT-{an20}"),
        ("glpat-your-token-goes-here", "the glpat- prefix"),
    ),
    Rule(
        "aws-access-key",
        r"\b(?:akia|asia|abia|acca)[a-z0-9]{16}\b",
        "an AWS access key id names a live key",
        ("AKIA{up16}", "asia{up16}"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA[0-9A-Z]{16}"),
    ),
    Rule(
        "slack-token",
        r"\b(?:xox[a-z](?:\.xox[a-z])?-[a-z0-9-]{16,}|xapp-\d-[a-z0-9-]{16,})",
        "a Slack bot, user or app token",
        ("xoxb-{dig12}-{dig12}-{an24}", "xapp-1-{up11}-{dig13}-{hex64}"),
        ("xoxb-your-token-here", "xox[baprs]-"),
    ),
    Rule(
        "sk-key",
        r"\bsk-[\w-]{16,}",
        "the `sk-` shape that model providers and their proxies share",
        ("sk-proj-{an48}", "sk-ant-api03-{an80}", "SK-{an32}", "sk-or-v1-{hex64}"),
        ("sk-your-key-here-0123456789", "sk-chasing-dot-before-animation-2", "sk-..."),
    ),
    Rule(
        "model-key",
        r"\b(?:hf_[a-z0-9]{24,}|gsk_[a-z0-9]{30,}|xai-[a-z0-9]{30,}|r8_[a-z0-9]{30,}|pplx-[a-z0-9]{30,}|"
        r"nvapi-[\w-]{40,}|tgp_v1_[\w-]{30,}|csk-[a-z0-9]{30,}|jina_[\w-]{40,}|lsv2_(?:pt|sk)_[\w-]{30,}|"
        r"tvly-[\w-]{20,}|absk[a-z0-9+/]{60,}|fw_[a-z0-9]{20,}|e2b_[a-z0-9]{30,}|bsk-[a-z0-9]{24,})",
        "a key of a hosted model or search service",
        ("hf_{an34}", "gsk_{an52}", "xai-{an80}", "nvapi-{an64}", "lsv2_pt_{hex32}_{hex10}"),
        ("hf_model_download_cache_directory", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ),
    Rule(
        "google-key",
        r"\b(?:aiza[\w-]{30,}|gocspx-[\w-]{16,}|ya29\.[\w-]{20,}|1//0[\w-]{24,})",
        "a Google API key, client secret or OAuth token",
        ("AIza{an35}", "GOCSPX-{an28}", "ya29.{an60}", "1//0{an60}"),
        ("AIza[0-9A-Za-z_-]{35}",),
    ),
    Rule(
        "payment-key",
        r"\b(?:(?:sk|rk)_(?:live|test|prod)_[a-z0-9]{10,}|whsec_[\w+/=]{20,}|sq0(?:atp|csp)-[\w-]{20,}|"
        r"rzp_(?:live|test)_[a-z0-9]{12,}|access_token\$(?:production|sandbox)\$[\w$]{20,}|"
        r"flwseck(?:_test)?-[\w-]{20,}|shippo_(?:live|test)_[a-z0-9]{30,}|eaaa[\w-]{56,})",
        "a secret key of a payment provider, test mode included",
        ("sk_live_{an24}", "rk_test_{an24}", "whsec_{an32}", "rzp_live_{an14}"),
        ("sk_live_your_key_here", "pk_live_{an24}"),
    ),
    Rule(
        "registry-token",
        r"\b(?:npm_[a-z0-9]{24,}|pypi-[\w-]{40,}|dckr_(?:pat|oat)_[\w-]{20,}|rubygems_[a-f0-9]{40,}|"
        r"cio[a-z0-9]{32}\b|"
        r"oy2[a-z0-9]{43}\b|clojars_[a-f0-9]{50,}|pul-[a-f0-9]{40}|nfp_[a-z0-9]{30,}|cloudsmith_[a-z0-9]{30,})",
        "a token that publishes packages or images",
        ("npm_{an36}", "pypi-AgEIcHlwaS5vcmc{an80}", "dckr_pat_{an27}", "rubygems_{hex48}", "cio{an32}"),
        ("npm_config_registry_authentication_token", "npm_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ),
    Rule(
        "mail-key",
        r"\b(?:sg\.[\w-]{16,}\.[\w-]{16,}|key-[a-f0-9]{32}\b|[a-f0-9]{32}-us\d{1,2}\b|sk[a-f0-9]{32}\b|"
        r"xkeysib-[a-f0-9]{64}-[a-z0-9]{10,}|re_[a-z0-9]{6,10}_[a-z0-9]{18,})",
        "a key of a mail or message service",
        ("SG.{an22}.{an43}", "key-{hex32}", "{hex32}-us14", "SK{hex32}", "re_{an8}_{an24}"),
        ("primary-key-of-the-table",),
    ),
    Rule(
        "telegram-bot-token",
        r"\b(?:bot)?\d{8,10}:[\w-]{33,38}\b-?",
        "a Telegram bot token",
        ("5{dig9}:AA{an33}", "https://api.telegram.org/bot5{dig9}:AA{an33}/getMe"),
        ("1718000000:2024-06-10 started",),
    ),
    Rule(
        "discord-bot-token",
        r"(?-i:\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})",
        "a Discord bot token",
        ("M{an25}.G{an5}.{an38}",),
        (),
    ),
    Rule(
        "saas-token",
        r"\b(?:hv[sbr]\.[\w-]{20,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[a-z0-9]{20,}|ops_eyj[\w-]{40,}|"
        r"do[opr]_v1_[a-f0-9]{40,}|"
        r"tskey-[a-z]+-[\w-]{16,}|dapi[a-f0-9]{32}|figd_[\w-]{30,}|pmak-[a-f0-9]{24}-[a-f0-9]{34}|sbp_[a-f0-9]{40}|"
        r"sb_secret_[\w-]{20,}|pat-(?:na|eu|ap)\d-[a-f0-9-]{36}|at(?:att|ctt)3[\w=-]{40,}|atbb[a-z0-9]{28,}|"
        r"lin_(?:api|oauth)_[a-z0-9]{30,}|ntn_[a-z0-9]{40,}|secret_[a-z0-9]{40,}|shp(?:at|ca|pa|ss|ua)_[a-f0-9]{32}|"
        r"glsa_[a-z0-9]{32}_[a-f0-9]{8}|glc_[a-z0-9+/=]{40,}|nr(?:ak|ii|aa)-[\w-]{20,}|sntry[su]_[\w+/=-]{40,}|"
        r"phx_[a-z0-9]{30,}|eaa[a-z]{1,3}[a-z0-9]{60,}|pscale_(?:tkn|pw|oauth)_[\w-]{30,}|"
        r"dt0[a-z]\d\d\.[a-z0-9]{20,}|"
        r"ltai[a-z0-9]{14,22}\b|akid[a-z0-9]{32}\b|hrku-[\w-]{30,}|fm\d_[\w+/=-]{40,}|cfpat-[\w-]{40,}|"
        r"bkua_[a-f0-9]{40}|"
        r"ccipat_[\w-]{40,}|pat[a-z0-9]{14}\.[a-f0-9]{64}|sl\.[\w-]{60,}|tfp_[\w-]{40,}|sqp_[a-f0-9]{40}|"
        r"squ_[a-f0-9]{40}|"
        r"ory_[a-z]{2}_[\w-]{40,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|[\w~.-]{3}\dq~[\w~.-]{30,36}|nsec1[a-z0-9]{50,}|"
        r"xprv[a-z0-9]{100,}|age-secret-key-[a-z0-9]{50,}|sk\.eyj[\w-]+\.[\w-]{20,}|duffel_(?:live|test)_[\w-]{40,}|"
        r"rnd_[a-z0-9]{28,}|ghost_[a-z0-9]{40,}|atlasv1\.[\w-]{60,}|[a-z0-9]{14}\.atlasv1\.[\w-]{60,}|"
        r"cmvmdg[a-z0-9+/=_-]{40,}|0x4aaaaaaa[\w-]{20,}|ak_[a-z0-9]{40,}|pk_[0-9]{6,10}_[a-z0-9]{32}|"
        r"api-[a-f0-9]{64}|rk-[a-z0-9]{40,}|sg_[a-z0-9]{40,}|sgp_[a-f0-9_]{40,}|shpss_[a-f0-9]{32}|"
        r"zpka_[a-z0-9_]{30,}|"
        r"vercel_[a-z0-9]{24,}|cf[a-z]{2,3}_[a-z0-9]{40,}|ddapi_[a-z0-9]{30,}|tk_[a-z0-9]{30,}|waka_[a-f0-9-]{36})",
        "a token in the shape of a well-known hosted service",
        ("hvs.{an90}", "dop_v1_{hex64}", "tskey-auth-{an17}-{an32}", "dapi{hex32}", "shpat_{hex32}", "lin_api_{an40}"),
        ("secret_scanning_push_protection_enabled_for_all_repos", "sl.txt"),
    ),
)

SHARED_SHAPES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        r"-{2,5} ?BEGIN [a-z0-9 ]{0,40}(?:private|secret|static) key[a-z0-9 ]{0,12} ?-{2,5}"
        r"(?:[^a-z0-9+/]|[a-z-]+: [^\n]*\n|#[^\n]*\n){0,40}[a-z0-9+/]{16,}",
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
        r"[a-z0-9+/=]{16,}\s*-{4,5} ?END [a-z0-9 ]{0,40}(?:private|secret) key",
        "the end of a block of private key material",
        ("{b6464}\n" + _DASH + "END RSA PRIVATE KEY" + _DASH,),
        ("{b6464}\n" + _DASH + "END CERTIFICATE" + _DASH,),
        vendor=False,
    ),
    Rule(
        "private-key-body",
        r"(?-i:\bMII[A-Za-z0-9+/]{2,5}(?:IBADANBgkqhkiG9w0BAQEFAASC|AgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg)"
        r"|\bMI[GH][A-Za-z0-9+/]{1,4}AgEAMB[AM][A-Za-z0-9+/]{20,}|\bb3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/]{20,}"
        r"|\bMII[A-Za-z0-9+/]{2,6}IBAAKCA[Q-g]EA[A-Za-z0-9+/]{20,})",
        "the first bytes of private key material, its header lost",
        ("b3BlbnNzaC1rZXktdjEA{b6440}", "MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC{b6440}"),
        ("MIIDdzCCAl+gAwIBAgIE{b6440}",),
        vendor=False,
    ),
    Rule(
        "putty-key",
        r"private-lines: ?\d+\s+[a-z0-9+/=]{16,}",
        "the private part of a PuTTY key file",
        ("Private-Lines: 1\n{b6448}",),
        ("Public-Lines: 2\n{b6448}",),
        vendor=False,
    ),
    Rule(
        "private-jwk",
        r"\"?kty\"?\s*[:=][^{}]*\"(?:d|k|p|q)\"\s*:\s*\"[\w-]{20,}\"|\"(?:d|k)\"\s*:\s*\"[\w-]{20,}\"[^{}]*\"kty\"",
        "a JSON web key with its private part",
        ('{"kty": "OKP", "crv": "Ed25519", "x": "{an43}", "d": "{an43}"}',),
        ('{"kty": "OKP", "crv": "Ed25519", "kid": "2024", "x": "{an43}"}',),
        vendor=False,
    ),
    Rule(
        "jwt",
        r"(?-i:\beyJ[\w-]{8,}\.[\w-]*\.[\w-]{8,})|\beyj[\w-]{16,}\.eyj[\w-]{8,}\.[\w-]{8,}",
        "a signed or encrypted JSON web token opens what it was made for",
        ("eyJhbGciOiJIUzI1NiJ9.eyJ{an40}.{an43}", "eyJhbGciOiJSU0EifQ.{an40}.{an16}.{an40}.{an22}"),
        ("eyJ[\\w-]+\\.[\\w-]+", "header.payload.signature", "eyJhZnRlciI6IDE0MDAsICJkaXIiOiAibmV4dCJ9"),
        vendor=False,
    ),
    Rule(
        "password-hash",
        r"\$(?:2[abxy]|apr1|[156y]|argon2(?:id|i|d)|scrypt|7)\$[a-z0-9./$=,+]{20,}|"
        r"scram-sha-256\$\d+:[a-z0-9+/=]{10,}\$[a-z0-9+/=:]{20,}|\{s?sha(?:256|512)?\}[a-z0-9+/]{24,}=*|"
        r"pbkdf2_sha256\$\d+\$[\w+/=]+\$[a-z0-9+/=]{30,}",
        "a stored password hash can be guessed back",
        ("$2b$12${an53}", "admin:$apr1${an8}${an22}", "root:$6${an16}${an86}:19000:"),
        ("$1 and $2 are the arguments", "the $2b$ prefix means bcrypt"),
        vendor=False,
    ),
    Rule(
        "prefixed-token",
        r"(?-i:\b[A-Za-z][A-Za-z0-9]{1,11}[_-](?:[a-z0-9]{1,8}[_-])?[A-Za-z0-9]{28,}\b)",
        "a short prefix, an underscore and a long random string: how providers write tokens now",
        ("acme_live_{an40}", "zz9_{an32}"),
        ("test_secret_key_rotation_keeps_old_sessions", "pk_live_{an32}", "cus_{an14}"),
        vendor=False,
    ),
    Rule(
        "license-key",
        r"(?-i:\b[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}\b)",
        "five groups of five: a licence or product key",
        ("{up5}-{up5}-{up5}-{up5}-{up5}",),
        ("XXXXX-XXXXX-XXXXX-XXXXX-XXXXX",),
        vendor=False,
    ),
)
