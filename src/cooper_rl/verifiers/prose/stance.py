"""Whether a place of a text states what stands there as the answer: not denied, not one of several, not a part of more."""
from __future__ import annotations

import re

from cooper_rl.verifiers.prose.sentences import Sentence
from cooper_rl.verifiers.prose.writing import RANGE, Written

_CLAUSE = re.compile(r"[,:()]|\s-\s|\b(?:but|however|although|though|while|whereas|because|since|so)\b", re.I)
_NOT = re.compile(r"\b(?:not(?! only| just| merely)|never|neither|nor|without|except|unlike|cannot|excluding|no(?! ?\.| \d| doubt|w)|\w+n't|isnt|wasnt|rather than|instead of|other than|as opposed to|far from|contrary to|false that|wrong|incorrect\w*|mistaken\w*|myth|confused with|rumou?red)\b", re.I)
_NOT_AFTER = re.compile(r"\W*(?:,? ?(?:is|are|was|were|does|do|did|has|have|had|will|would|can|could)(?: not\b(?! only| just)|n't\b| never\b| (?:wrong|incorrect|false|a myth)))", re.I)
_HEDGE = re.compile(r"\b(?:might|maybe|perhaps|possibly|could(?: have)? be(?:en)?|could|can be|may (?:be|have|also|not)|not sure|unsure|unclear|uncertain|unknown|(?:some|many|others?|people|often|commonly|popularly|widely|mistakenly|wrongly|incorrectly|once) (?:people )?(?:say|said|think|thought|believed?|claim(?:ed)?|assumed?)|candidates?|options?|possibilities|guess(?:es)?|either|one of the possible|if)\b", re.I)
_OR_AFTER = re.compile(r"[\"')\]]*,? ?(?:and/or|or)\b(?! (?:more|less|so|later|earlier|older)\b)|[\"')\]]*/", re.I)
_OR_BEFORE = re.compile(r"(?:\bor|/)\W*(?:\w+\W+){0,2}$", re.I)
_OR_NEAR = re.compile(r"(?:\W*\w+){0,4}?,? or\b(?! (?:more|less|so|later|earlier|older)\b)", re.I)

def checks(whole: Written, s: Sentence, first: int, last: int):
    t=whole.text; tok=whole.tokens
    start,end=tok[first].start,tok[last-1].end
    s0=tok[s.first].start; s1=s0+len(s.text) if False else tok[s.last-1].end
    before=t[s0:start]; after=t[end:s1]
    clause=before
    for m in _CLAUSE.finditer(before): clause=before[m.end():]
    out=[]
    if s.asks: out.append('asks')
    if _NOT.search(clause): out.append('not')
    if _NOT_AFTER.match(after): out.append('not_after')
    if _HEDGE.search(before): out.append('hedge')
    if re.match(r"\W*(?:\w+\W+){0,3}(?:might|may (?:be|have)|could be|possibly|perhaps|maybe)\b",after,re.I): out.append('hedge_after')
    if _OR_AFTER.match(after): out.append('or_after')
    elif _OR_NEAR.match(after): out.append('or_near')
    if _OR_BEFORE.search(before): out.append('or_before')
    nxt=tok[last] if last<s.last else None
    if nxt and nxt.capital and t[end:nxt.start] in (' ','-') and tok[last-1].capital and nxt.number is None and nxt.date is None: out.append('longer')
    if first>s.first:
        prv=tok[first-1]
        if prv.word in ('new','north','south','east','west','saint','st','san','northern','southern','eastern','western','central') and t[prv.end:start] in (' ','-','. '): out.append('longer_before')
        if prv.key==RANGE and all(x.is_figure for x in tok[first:last]): out.append('range')
    if nxt and nxt.key==RANGE and all(x.is_figure for x in tok[first:last]): out.append('range')
    return out
