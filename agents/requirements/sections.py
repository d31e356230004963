"""What a heading promises about the paragraphs under it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from agents.requirements.model import Kind

# prose: sentences with "shall" and the like count · mute: stories only · design: statements of an architecture
Role = Kind | Literal["prose", "mute", "design"]

_NUMBER = re.compile(r"^(\d{1,3}(?:\.\d{1,3}){0,5})[.):]?\s+")
_STEP = re.compile(
    r"^(step|phase|stage|part|release|milestone|iteration|sprint|epic|module)\s+(\d{1,3})\b", re.IGNORECASE
)
_QUALITIES = frozenset(
    (
        "performance security reliability availability scalability usability accessibility observability compliance "
        "privacy maintainability portability localisation localization internationalization robustness trust quality "
        "safety resilience efficiency durability compatibility responsiveness"
    ).split()
)
_FILLERS = frozenset(["and", "&", "requirements", "requirement", "the", "of"])

_PATTERNS: tuple[tuple[Role, str], ...] = (
    (
        "non_goal",
        r"\bout[- ]of[- ]scope\b|\bnon[- ]?goals?\b|\bnot in scope\b|\bwon'?t have\b|\bwill not have\b|\bexclusions?\b"
        r"|\bexcluded\b|\bfuture (?:work|enhancements?|considerations?|features?|scope|versions?|releases?"
        r"|improvements?)\b"
        r"|\bpost[- ]mvp\b|\banti[- ]goals?\b|\bnot (?:included|planned)\b",
    ),
    (
        "prose",
        r"\boverview\b|\brequirements?,? (?:document|specification)\b|\bprd\b|^(?:executive )?summary\b"
        r"|^introduction\b|^background\b|^usage\b|^document purpose\b|^high[- ]level requirements? summary\b",
    ),
    (
        "mute",
        r"\btraceability\b|\bpersonas?\b|\brisks?\b|\bopen questions?\b|\bvalue proposition\b|\bstrategic alignment\b"
        r"|\bproblem statement\b|\broadmap\b|\btimeline\b|\bmilestones\b|\bimplementation (?:plan|priority|phases"
        r"|roadmap)\b"
        r"|\brevision history\b|\bchange ?log\b|\bglossary\b|\bterms?/?concepts?\b|\bterminology\b|\bdefinitions\b"
        r"|\breferences\b|\bworks cited\b|\bbibliography\b|\bappendix\b|\bappendices\b|\btable of contents\b|^contents$"
        r"|\bconclusions?\b|\binsights$|\bstakeholders?\b|^files to reference\b|^license$|^faq$|\btarget (?:users"
        r"|audience)\b",
    ),
    ("story", r"\buser stor(?:y|ies)\b|\buse[- ]cases?\b|^scenarios?$"),
    ("acceptance", r"\bacceptance (?:criteria|criterion|tests?)\b|\bdefinition of done\b|\bexit criteria\b"),
    (
        "non_functional",
        r"\bnon[- ]?functional\b|\bquality (?:attributes?|requirements?)\b|\bdesign and user interface\b"
        r"|\blook and feel\b|^design requirements\b|\bui(?:/ux)? requirements\b",
    ),
    (
        "constraint",
        r"\bconstraints\b|\bconstraint$|\b(?:tech|technology|technical|technologies|software) stack\b|^dependenc(?:y"
        r"|ies)\b"
        r"|\btechnical (?:implementation )?requirements?\b|\b(?:environment|platform|hardware|runtime|data|interface"
        r"|infrastructure|deployment) requirements?\b|^prerequisites$|^limitations$|^assumptions\b|^technolog(?:y"
        r"|ies)$",
    ),
    (
        "goal",
        r"\bgoals?\b|\bobjectives?\b|\bsuccess (?:metrics|criteria)\b|\bkpis?\b|\bkey performance indicators\b"
        r"|^mission$"
        r"|^scope$|^purpose$|^user benefit$|^benefits?$|\bokrs?\b",
    ),
    (
        "functional",
        r"\bfunctional\b|\bfeatures?\b|\bfunctionalit(?:y|ies)\b|\brequirements?\b|\bcapabilit(?:y|ies)\b"
        r"|\bin[- ]scope\b"
        r"|\bmust[- ]haves?\b|\bshould[- ]haves?\b|\bcommand[- ]line (?:configuration )?arguments\b"
        r"|\bcli (?:arguments|options)\b"
        r"|^business rules$|^specifications?$|^behaviou?r$|^functions$|^what (?:it|the \w+) (?:does|must do)$",
    ),
    (
        "design",
        r"\barchitecture\b|\bdesign\b|\bschema\b|\b(?:file|directory|project) structure\b|\bconfiguration\b"
        r"|\binterface\b"
        r"|\bset-?up\b|\bdata model\b|\bframework\b|\bdeep dive\b|\bcorrection\b|\bprotocol\b",
    ),
)
_RULES = tuple((role, re.compile(pattern)) for role, pattern in _PATTERNS)
# In a plain text these words on a line of their own are headings.
_ALONE = re.compile(
    r"^(?:(?:basic |core |key |main |system |product |user |business |technical |strategic )?"
    r"(?:(?:non[- ]?)?functional requirements|requirements|features|features and functionalit(?:y|ies)"
    r"|functionalit(?:y|ies)"
    r"|capabilities|goals|objectives|goals and objectives|constraints|acceptance criteria|user stories|use cases"
    r"|dependencies|assumptions)|scope|in[- ]scope|out[- ]of[- ]scope|non[- ]goals|future (?:work|enhancements)"
    r"|technology stack|tech(?:nical)? stack|introduction|overview|background|executive summary|summary|conclusions?"
    r"|glossary|references|works cited|bibliography|(?:technical )?appendix|risks|open questions|success metrics"
    r"|success criteria|definition of done|roadmap|timeline|milestones|personas|user personas|problem statement"
    r"|performance|security|usability|reliability|accessibility|mission|must have|should have|won'?t have)$"
)
_LETTERED = re.compile(r"^[A-Z][.)]\s")


def plain_title(heading: str) -> str:
    """The heading in lower case without its number and its markup."""
    text = heading.strip().strip("*_:#").strip()
    text = _NUMBER.sub("", text)
    text = _LETTERED.sub("", text)
    return " ".join(text.strip("*_: ").lower().split())


def heading_role(heading: str) -> Role | None:
    """What the heading promises; None when it says nothing (the section above decides then)."""
    title = plain_title(heading)
    return _role_of(title) if 0 < len(title) <= 160 else None


@lru_cache(maxsize=4096)
def _role_of(title: str) -> Role | None:
    for role, pattern in _RULES:
        if pattern.search(title):
            return role
    words = re.findall(r"[a-z&]+", title)
    if any(w in _QUALITIES for w in words) and all(w in _QUALITIES or w in _FILLERS for w in words):
        return "non_functional"
    return None


def is_known_title(line: str) -> bool:
    """Whether a line of a plain text is a heading by its words alone."""
    return len(line) <= 48 and bool(_ALONE.match(plain_title(line)))


def heading_number(heading: str) -> tuple[int, ...]:
    """2.1 as (2, 1); empty when the heading has no number."""
    found = _NUMBER.match(heading.strip().strip("*_").strip())
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def step_label(heading: str) -> str:
    """S2 for "Step 2 — …", P1 for "Phase 1: …"; empty when the heading is neither."""
    found = _STEP.match(heading.strip().strip("*_").strip())
    return f"{found[1][0].upper()}{int(found[2])}" if found else ""


def slug(heading: str) -> str:
    """A short key part from the words of a heading: TECHNICAL-CONSTRAINTS."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\([^()]*\)", "", plain_title(heading)))
    words = [
        w for w in words if w not in ("and", "the", "of", "a", "an", "as", "for", "to", "in", "with", "or")
    ] or words
    kept: list[str] = []
    for word in words[:3]:
        if kept and len("-".join([*kept, word])) > 28:
            break
        kept.append(word[:28])
    return "-".join(kept).upper() or "TEXT"
