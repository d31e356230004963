"""What a requirements document asks for, found by rules: no model, no chance, no invention."""

from agents.extraction.extract import extract
from agents.extraction.implicit import ImpliedRequirement, imply
from agents.extraction.model import KINDS, Extraction, Kind, Paragraph, Requirement

__all__ = ["KINDS", "Extraction", "ImpliedRequirement", "Kind", "Paragraph", "Requirement", "extract", "imply"]
