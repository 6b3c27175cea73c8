"""The prose of ``docs/studies/validity.md``, between its tables."""

HEAD = """# Do the scores agree with people?

Written by `scripts/study validity` from public data sets with human labels, or labels by construction.  Each score is
compared with two naive baselines: the answer's length in words, and *new words*, 1 − the share of the answer's words
that occur in the contexts.  Brackets show 95 % bootstrap confidence intervals.  No rule was trained on the labels,
but the rules of `hallucination` were written while reading errors in one half of each data set, and how many words of
a claim must occur was chosen there.  All rows of a group, for example a right and a wrong answer to one question, are
in the same half.  *Held out* is the other half alone.  It was used to compare variants of the rules, so it is a check,
not a blind test.

## Hallucination: ROC AUC

Higher scores should go with the label "unsupported"; 0.5 is chance.

"""
FACES = """
On `halueval_qa`, length alone nearly separates the classes, so an AUC there says little about any score.  Dialogue
and edited summaries are hard because the wrong answers use the contexts' own words.  On `summedits` no score is
better than chance, though the share of unsupported numbers and dates alone is (0.54 and 0.59 in the two halves).  On
`begin_grounding` plain word overlap is the better score.  There, half of the unsupported answers that score at
most 0.2 ask a question or make a guess; by definition these claim nothing, though every word is new.  If such
sentences were checked too, the AUC would be 0.90, and it would fall on `summedits`.
The 207 rows of `mtrag_human_eval` are too few to distinguish the scores.
"""
VERDICTS = """
## The verdict's threshold

The verdict fails an answer whose `hallucination` is above 0.5.  The table shows the share of unsupported and of
supported answers that fail, and the balanced accuracy (the mean of the first and of 1 − the second), also of the rows
held out.

"""
VERDICTS_READ = """
The price of a strict verdict is false alarms where supported answers use other words than the contexts: most supported
summaries of `summedits` fail, and on neither of the two hard data sets is a verdict much better than chance.
"""
SHARE = """
## How many words of a claim must occur

The source asks that subject and object occur close together; how much of them must is a choice of this package.  ROC
AUC by the share of their words, in the half that was read while writing the rules:

"""
RATED_HEAD = """
## Relevance, completeness and writing: Spearman correlation

The label is the mean of human ratings; higher is better for both.

"""
TAIL = """
In short, these scores are cheap checks of form.  If a correlation is below about 0.2, or below that of the answer's
length, do not use the score in place of human ratings.
"""
