"""The document of a run: answers, chapters, appendices."""
