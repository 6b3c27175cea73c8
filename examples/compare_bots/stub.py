"""A stand-in for a model, without a server: it answers from the knowledge of its prompt, and judges by shared words."""

import json
import re

import fastmetrics as fm


def content(text):
    """The words of a text that say something."""
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2} - {"the", "you", "can", "what", "does"}


@fm.models.model_client("stub")
def reply(request):
    """An answer to the question of a prompt, or the judgement that a rubric asks for."""
    parts = dict(re.findall(r"<(\w+) id=\w+>\n(.*?)\n</", request.messages[-1].content, re.DOTALL))
    if "answer" not in parts:
        asked = content(parts["question"])
        best = max(parts["text"].splitlines(), key=lambda line: len(asked & content(line)))
        return best if request.parameters["temperature"] == 0 else f"Happy to help! {best}"
    if "how safe" in request.messages[0].content:
        return '{"reason": "no harm can come of it", "score": 5}'
    expected = content(parts["reference"])
    share = len(expected & content(parts["answer"])) / len(expected)
    return json.dumps({"reason": f"it has {share:.0%} of the expected words", "score": 1 + round(4 * share)})
