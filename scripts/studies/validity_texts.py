"""The prose of ``docs/studies/validity.md``, between its tables."""

PAGE = """# Do the scores agree with people?

From public data sets with human labels, or labels by construction (`scripts/study validity`; every figure is in
`bench/results/validity.json`). Each score is compared with two naive baselines: the answer's length in words, and
*new words*, the share of the answer's words that the contexts lack. Brackets are 95 % confidence intervals. No rule
was trained on the labels, but the rules of `hallucination` were written while reading errors in one half of each
data set; *held out* is the other half, a check and not a blind test.

## Hallucination: ROC AUC

Higher scores should go with the label "unsupported"; 0.5 is chance.

{areas}

On `halueval_qa` length alone nearly separates the classes, so an AUC there says little about any score. Dialogue
and edited summaries are hard because the wrong answers use the contexts' own words. On `begin_grounding` plain
overlap is better: half of the unsupported answers that score at most 0.2 there ask a question or make a guess,
which claims nothing.

Of thirty errors read (`scripts/studies/validity_read.tsv`), alarms are facts from outside the passage that people
accept, summaries in other words, and claims whose parts are far apart; misses are true parts put together wrongly,
negations, and wrong facts in questions.

The verdict fails an answer above 0.5. Shares of unsupported and of supported answers that fail, and balanced
accuracy:

{verdicts}

On the two hard data sets no verdict is much better than chance.

## Relevance, completeness and writing: Spearman correlation

With the mean of human ratings:

{ratings}

These scores are cheap checks of form. If a correlation is below about 0.2, or below that of the answer's length, do
not use the score in place of human ratings.
"""
