"""What a requirements document asks for, found by rules: no model, no chance, no invention."""

from agents.requirements.extract import extract
from agents.requirements.implicit import ImpliedRequirement, imply
from agents.requirements.model import KINDS, ExtractedRequirement, Extraction, Kind, Paragraph

__all__ = ["KINDS", "ExtractedRequirement", "Extraction", "ImpliedRequirement", "Kind", "Paragraph", "extract", "imply"]
