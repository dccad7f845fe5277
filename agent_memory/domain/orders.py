"""Spots text that gives orders to whoever reviews it; a hint for refusing verdicts, not a filter of what is stored.

A false alarm only keeps a candidate for the agent review, so the patterns lean towards alarm.
"""

import re
import unicodedata

_THING = r"(?:record|memor|candidate|neighbou?r|entr(?:y|ies)|note|item|observation|everything|them all|all of)"
_RULES = r"(?:instruction|rule|prompt|guideline|guard|message|direction|polic|constraint|order)"
_WHICH = r"(?:all|any|every|each|this|these|those|the|your|its|both|previous|prior|above|earlier|other|of|and|my|our)"
_OUTCOME = r"(?:duplicates?|session[ _-]?state|obsolete|approved)"

_PATTERNS = (
    # the shape of an answer, or of a chat turn, inside a text that has no business holding one
    r"\"?\bverdict\b\"?\s*(?:[:=]|is\b|must\b|should\b)|\bduplicate_of\b",
    r"(?:^|[.!?\n]\s*)(?:system|assistant|developer|user)(?: message| prompt| note)?\s*:",
    r"<\|[a-z_]+\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>|</?(?:system|assistant|instructions?)>",
    # English orders
    rf"\b(?:ignore|disregard|override|forget|bypass|skip|violate)\s+(?:{_WHICH}\s+){{0,4}}(?:\w+\s+)?{_RULES}",
    rf"\b(?:delete|forget|remove|discard|drop|erase|purge|wipe)\s+(?:{_WHICH}\s+){{1,4}}(?:\w+\s+)?{_THING}",
    r"\b(?:delete|forget|remove|discard|erase|purge|wipe)\s+(?:everything|them all|it all|all of (?:it|them|this))",
    rf"\b(?:answer|reply|respond|return|output|say|vote|confirm|mark|label|classify|treat|flag|count|rule|judge|rate|"
    rf"report)\b(?:[^.!?\n]{{0,60}}\b(?:with|as|by|is|be|to)\s+(?:an?\s+)?[\"'`]?|"
    rf":?\s+[\"'`]?){_OUTCOME}\b(?!\s+[a-z]+s\b)",
    rf"\b(?:reviewers?|curator|grader|judge|language model|llm|ai(?: model| assistant)?|assistant|agent|model)\s*[,:!]"
    rf"[^.\n]{{0,160}}\b(?:{_OUTCOME}|delete|forget|remove|discard|drop|answer|reply|ignore|please|must|should)\b",
    r"\b(?:attention|note|message|dear|hello|hey|instructions?)\s*(?:to|for)?\s*(?:the\s+)?(?:reviewers?|"
    r"curator|grader)\b",
    # the same orders in the languages most often met beside English
    r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie|übergeh\w*)\b[^.\n]{0,60}"
    r"(?:anweisung|regel|vorgabe|anleitung|prompt)",
    r"\b(?:lösch(?:e|en|t)|vergiss|entfern(?:e|en|t)|verwirf)\b[^.\n]{0,40}(?:eintr[aä]g|kandidat|"
    r"erinnerung|datens[aä]tz|alles|nachbar)",
    r"\b(?:prüfer|gutachter)(?:in)?\s*[,:]|\b(?:bewerte|markiere|antworte|"
    r"stufe)\b[^.\n]{0,60}(?:duplikat|duplicate|session-state|dublette)",
    r"\b(?:ignor\w+|oubli\w+|olvid\w+|descart\w+|desconsider\w+|dimentic\w+)\b[^.\n]{0,60}(?:instruc|"
    r"instruç|istruzion|règle|regla|regra|regol|consigne)",
    r"\b(?:supprim\w+|effac\w+|elimin\w+|borr(?:a|e|ar)|apag(?:a|ue|ar)|"
    r"cancell\w+)\b[^.\n]{0,40}(?:enregistrement|souvenir|entrée|registro|recuerdo|entrada|candidat|record|tous|todo|tutt)",
    r"(?:игнорир\w*|забуд\w*|удал\w+)[^.\n]{0,40}(?:инструкц|правил|запис|кандидат|вс[её])",
    r"(?:忽略|无视|無視|忽视|忽視|不要理会)[^。\n]{0,20}(?:规则|規則|指令|指示|说明|說明|提示|要求)",
    r"(?:删除|刪除|忘记|忘記|清除)[^。\n]{0,12}(?:记录|記錄|记忆|記憶|条目|候选|候選|所有|全部)|(?:判定|判断|判斷|标记|標記)[^。\n]{0,16}(?:为|為|成)",
    r"(?:指示|ルール|命令|規則)[^。\n]{0,10}無視|(?:記録|メモリ|候補|すべて|全て)[^。\n]{0,10}(?:削除|消去|忘れ)し?て|と(?:判定|回答)し(?:て|なさい)",
    r"(?:지시|규칙|명령)[^.\n]{0,12}무시|(?:기록|메모리|후보|모두)[^.\n]{0,12}(?:삭제|지우)",
)
_ORDERS = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"(?: ?\n ?)+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\U000e0000-\U000e007f]")


def gives_orders(text: str) -> bool:
    """Whether a text talks to its reviewer or model: names a verdict, overrides rules or orders a removal."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    # runs of white space become one character, which also keeps the patterns linear in the length of the text
    visible = _LINES.sub("\n", _BLANKS.sub(" ", visible))
    return _ORDERS.search(visible) is not None or bool(re.search("[\U000e0020-\U000e007e]", text))
