"""The words that say how a sentence is built, not what it is about; dropped from queries unless nothing else is left.

Two lists of our own, English and German. No word stands in either that means something to a programmer by itself
(`if`, `for`, `while`, `not` and `in` do as code, but a query made of prose holds them too often to be of use).
"""

ENGLISH = frozenset(
    """
    a about above after again against ain all almost also am among an and another any anybody anyone anything are aren
    aren't around as at be because been before being below between both but by can can't cannot could couldn couldn't
    did didn didn't do does doesn doesn't doing don don't down during each either else ever every everyone everything
    few for from further had hadn hadn't has hasn hasn't have haven haven't having he her here here's hers herself him
    himself his how how's however i i'd i'll i'm i've if in instead into is isn isn't it it's its itself just let let's
    ll many may maybe me might more most much must mustn mustn't my myself neither no nor not now of off often on once
    only onto or other others ought our ours ourselves out over own per perhaps please quite rather re really s same
    shall shan she she's should shouldn shouldn't since so some somebody someone something still such t than that
    that's the their theirs them themselves then there there's these they they're this those though through thus till
    to too toward under until up upon us ve very was wasn wasn't we we're were weren weren't what what's whatever when
    where whether which while who who's whom whose why will with within without won won't would wouldn wouldn't yet you
    you're your yours yourself
    """.split()  # noqa: SIM905  # a list of 232 quoted words is harder to read and to check
)

GERMAN = frozenset(
    """
    aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein dem
    den denn der des die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er
    es etwas für gegen gibt habe haben hat hatte hier ich ihm ihn ihr ihre im in ist ja jede jeden jeder jedes kann
    kein keine keinen können man mehr mein mit muss müssen nach nicht nichts noch nur ob oder ohne sehr sein seine sich
    sie sind so soll sollen sollte um und uns unser unter vom von vor wann war waren warum was weil welche welchem
    welchen welcher welches wenn wer werden wie wieder wir wird wo wurde wurden zu zum zur zwischen über
    """.split()  # noqa: SIM905
)

STOP_WORDS = ENGLISH | GERMAN
