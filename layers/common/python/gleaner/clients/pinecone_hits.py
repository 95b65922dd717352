"""Reads search results of the Pinecone index hit by hit, so that a bad one costs no other."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pinecone.errors.exceptions import ResponseParsingError
from pinecone.index import Index
from pinecone.models.vectors.search import Hit, SearchRecordsResponse, SearchResult, SearchUsage
