"""The languages of a report: labels, plural forms and notes."""
