"""The rows of a report: which ones are shown, their texts, marks and judgements."""
