"""Replies and bodies as servers and models write them, each with what a judge from 1 to 5 should read in it.

The forms are those of the servers' documentation; the texts are those of models that were asked for one object with a
reason and a score.  What is expected: ``ok 4`` (the score), ``unparsed``, ``truncated``, ``refused``, or ``http`` with
the kind of the failure: passing (asked for again), limited (too many requests), final (this call), fatal (all calls).
"""

import json
from typing import Any

Body = dict[str, Any]

GOOD = '{"reason": "It is right.", "score": 4}'
DRAFT = '{"reason": "A draft.", "score": 2}'


def _made(choice, usage=None, **more):
    counts = {"prompt_tokens": 310, "completion_tokens": 41, "total_tokens": 351}
    fields = {"id": "chatcmpl-9f", "object": "chat.completion", "created": 1764200000, "model": "m"}
    return {**fields, "choices": [{"index": 0, **choice}], "usage": usage or counts, **more}


def openai(content, finish="stop", **message):
    """A body of OpenAI's own server."""
    said = {"role": "assistant", "content": content, "refusal": None, "annotations": [], **message}
    details = {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0}
    usage = {"prompt_tokens": 310, "completion_tokens": 41, "completion_tokens_details": details}
    return _made({"message": said, "logprobs": None, "finish_reason": finish}, usage, service_tier="default")


def vllm(content, finish="stop", thoughts=None):
    """A body of vLLM, with or without a parser of reasoning."""
    said = {"role": "assistant", "reasoning_content": thoughts, "content": content, "tool_calls": []}
    return _made(
        {"message": said, "logprobs": None, "finish_reason": finish, "stop_reason": None}, prompt_logprobs=None
    )


def llama(content, finish="stop", **message):
    """A body of llama.cpp's server."""
    said = {"role": "assistant", "content": content, **message}
    timings = {"prompt_n": 310, "prompt_ms": 91.2, "predicted_n": 41, "predicted_ms": 412.7}
    return _made({"finish_reason": finish, "message": said}, system_fingerprint="b6900-1a2b", timings=timings)


def ollama(content, finish="stop", **message):
    """A body of Ollama's compatible server."""
    said = {"role": "assistant", "content": content, **message}
    return _made({"message": said, "finish_reason": finish}, system_fingerprint="fp_ollama")


def anthropic(content, finish="stop"):
    """A body of Anthropic's compatible server."""
    said = {"role": "assistant", "content": content, "refusal": None}
    return _made({"message": said, "finish_reason": finish, "logprobs": None}, system_fingerprint=None)


def gemini(content, finish="stop", **more):
    """A body of Gemini's compatible server."""
    said = {"role": "assistant"} if content is None else {"content": content, "role": "assistant"}
    return _made({"finish_reason": finish, "message": said}, **more)


def openrouter(content, finish="stop", native="stop", **choice):
    """A body of OpenRouter."""
    said = {"role": "assistant", "content": content, "refusal": None, "reasoning": choice.pop("reasoning", None)}
    ends = {"finish_reason": finish, "native_finish_reason": native, "logprobs": None}
    return _made({**ends, "message": said, **choice}, provider="DeepInfra")


def litellm(content, finish="stop", **message):
    """A body of LiteLLM's proxy."""
    said = {"content": content, "role": "assistant", "tool_calls": None, "function_call": None, **message}
    return _made({"finish_reason": finish, "message": said}, system_fingerprint=None)


def _tool_calls():
    return [{"id": "call_1", "type": "function", "function": {"name": "score", "arguments": '{"score": 4}'}}]


def _parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


THOUGHTS = [
    # closed thoughts, with another draft in them
    (vllm(f"<think>\nPerhaps {DRAFT}\n</think>\n\n{GOOD}"), "ok 4"),
    (vllm(f"<think>{DRAFT}</think>{GOOD}"), "ok 4"),
    (vllm(f"<think>\n\n</think>\n\n{GOOD}"), "ok 4"),
    (vllm(f"Perhaps {DRAFT}\n</think>\n\n{GOOD}"), "ok 4"),
    (vllm(f"{DRAFT}</think>{GOOD}"), "ok 4"),
    (vllm(f"<THINK>{DRAFT}</THINK>\n{GOOD}"), "ok 4"),
    (vllm(f"<thinking>\n{DRAFT}\n</thinking>\n{GOOD}"), "ok 4"),
    (vllm(f"[THINK]{DRAFT}[/THINK]{GOOD}"), "ok 4"),
    (vllm(f"<seed:think>{DRAFT}</seed:think>{GOOD}"), "ok 4"),
    (vllm(f"◁think▷{DRAFT}◁/think▷{GOOD}"), "ok 4"),
    (vllm(f"<think>first {DRAFT}</think>\n<think>then {DRAFT}</think>\n{GOOD}"), "ok 4"),
    (vllm(f"<think>a <think>{DRAFT}</think> b</think>\n{GOOD}"), "ok 4"),
    (vllm(f"<think>{DRAFT}</think>\n<answer>{GOOD}</answer>"), "ok 4"),
    (vllm(f"<think>{DRAFT}</think>\n```json\n{GOOD}\n```"), "ok 4"),
    (vllm(f"<think>The 5\" disk: {DRAFT}</think>\n{GOOD}"), "ok 4"),
    (vllm(f"<think>I must close with `</think>`. {DRAFT}</think>\n{GOOD}"), "ok 4"),
    (vllm(f"Sure. <think>{DRAFT}</think> {GOOD}"), "ok 4"),
    (vllm(GOOD, thoughts=f"Perhaps {DRAFT}"), "ok 4"),
    (llama(f"<think>{DRAFT}</think>\n\n{GOOD}"), "ok 4"),
    (llama(GOOD, reasoning_content=DRAFT), "ok 4"),
    (llama(f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}"), "ok 4"),
    (llama(f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final <|constrain|>json"
           f"<|message|>{GOOD}<|return|>"), "ok 4"),
    (llama(f"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>{DRAFT}<|end|>"
           f"<|start|>assistant<|channel|>final<|message|>{GOOD}"), "ok 4"),
    (llama(f"analysisWe need one object. {DRAFT}assistantfinal{GOOD}"), "ok 4"),
    (llama(f"<|channel>thought\n{DRAFT}<channel|>{GOOD}"), "ok 4"),
    (llama(f"Thinking Process:\n\n1. Draft: {DRAFT}\n</think>\n\n{GOOD}"), "ok 4"),
    (ollama(GOOD, reasoning=f"Perhaps {DRAFT}"), "ok 4"),
    (ollama(f"<think>\n{DRAFT}\n</think>\n\n{GOOD}"), "ok 4"),
    (ollama(f"Thinking...\n{DRAFT}\n...done thinking.\n\n{GOOD}"), "ok 4"),
    (ollama(f"<thought>{DRAFT}</thought>{GOOD}"), "ok 4"),
    (gemini(f"<thought>\nPerhaps {DRAFT}\n</thought>{GOOD}"), "ok 4"),
    (gemini(f"**Thinking Process:**\n\n{DRAFT}\n\n**Final Answer:**\n{GOOD}"), "ok 4"),
    (anthropic(f"<thinking>{DRAFT}</thinking>\n\n{GOOD}"), "ok 4"),
    (anthropic(f"<analysis>\n{DRAFT}\n</analysis>\n{GOOD}"), "ok 4"),
    (openrouter(GOOD, reasoning=DRAFT), "ok 4"),
    (openrouter(f"<reasoning>{DRAFT}</reasoning>\n{GOOD}"), "ok 4"),
    (litellm(GOOD, reasoning_content=DRAFT, thinking_blocks=[{"type": "thinking", "thinking": DRAFT}]), "ok 4"),
    (litellm(f"<details type=\"reasoning\">\n<summary>Thought</summary>\n{DRAFT}\n</details>\n{GOOD}"), "ok 4"),
    (openai('{"reason": "It explains what <think> means.", "score": 4}'), "ok 4"),
    (openai('{"reason": "It writes `</think>` twice.", "score": 4}'), "ok 4"),
    # thoughts that do not end
    (vllm(f"<think>\nPerhaps {DRAFT}\nor", "length"), "truncated"),
    (vllm(f"<think>{DRAFT}", "length"), "truncated"),
    (vllm(f"<think>{DRAFT}", "stop"), "unparsed"),
    (vllm(f"<thinking>{DRAFT}", "length"), "truncated"),
    (vllm(f"[THINK]{DRAFT}", "length"), "truncated"),
    (vllm(f"<think>a</think><think>{DRAFT}", "length"), "truncated"),
    (vllm(f"<think>a</think>\nSo far good.\n<think>{DRAFT}", "length"), "truncated"),
    (vllm(f"<think>a <think>b</think> {DRAFT}", "length"), "truncated"),
    (vllm(f"<THINKING>{DRAFT}", "stop"), "unparsed"),
    (vllm(f"Okay. <think> {DRAFT}", "length"), "truncated"),
    (vllm(None, "length", thoughts=f"Perhaps {DRAFT}"), "truncated"),
    (llama(f"<|channel|>analysis<|message|>{DRAFT}", "length"), "truncated"),
    (llama(f"<|channel|>analysis<|message|>{DRAFT}<|end|>", "stop"), "unparsed"),
    (llama(f"analysisWe need one object: {DRAFT}", "length"), "truncated"),
    (llama(f"<|channel>thought\n{DRAFT}", "length"), "truncated"),
    (llama("", "length", reasoning_content=DRAFT), "truncated"),
    (ollama("", "length", reasoning=DRAFT), "truncated"),
    (ollama(f"<thought>{DRAFT}", "length"), "truncated"),
    (gemini(f"Thinking Process:\n\n1. Draft: {DRAFT}", "length"), "truncated"),
    (gemini(f"Thinking Process:\n\n1. Draft: {DRAFT}\n2. Check.", "stop"), "unparsed"),
    (gemini(f"<thought>{DRAFT}", "length"), "truncated"),
    (openrouter(f"<reasoning>{DRAFT}", "length", "MAX_TOKENS"), "truncated"),
    (litellm(f"<think>{DRAFT}", "max_tokens"), "truncated"),
    (anthropic(f"<thinking>{DRAFT}", "length"), "truncated"),
    (openrouter(f"◁think▷{DRAFT}", "length", "length"), "truncated"),
]  # fmt: skip

OBJECTS = [
    (openai(GOOD), "ok 4"),
    (openai(_parts(GOOD)), "ok 4"),
    (openai(_parts('{"reason": "r", ', '"score": 4}')), "ok 4"),
    (anthropic(f"```json\n{GOOD}\n```"), "ok 4"),
    (anthropic(f"Here is my verdict:\n\n```json\n{GOOD}\n```\n\nLet me know if you need more."), "ok 4"),
    (gemini(f"```json\n{GOOD}\n```"), "ok 4"),
    (gemini(f"```\n{GOOD}\n```\n"), "ok 4"),
    (llama(f"{GOOD}<|im_end|>"), "ok 4"),
    (llama(f"{GOOD}</s>"), "ok 4"),
    (llama('{"reason": "line one\nline two", "score": 4}'), "ok 4"),
    (llama('{"reason": "a\ttab and\na break {here}", "score": 4}'), "ok 4"),
    (llama('{\n  // the reason comes first\n  "reason": "r",\n  "score": 4 // of 5\n}'), "ok 4"),
    (llama('{"reason": "r", /* it is\n good */ "score": 4}'), "ok 4"),
    (llama('{"reason": "see https://example.org", "score": 4, // good\n}'), "ok 4"),
    (ollama("{'reason': 'It is right.', 'score': 4}"), "ok 4"),
    (ollama("{'reason': \"it's right\", 'score': 4}"), "ok 4"),
    (ollama("{'reason': 'it\\'s right', 'score': 4}"), "ok 4"),
    (ollama("{'reason': 'it's \"right\" {so}', 'score': 4}"), "ok 4"),
    (ollama("{'reason': None, 'score': 4}"), "ok 4"),
    (ollama('{reason: "It is right.", score: 4}'), "ok 4"),
    (ollama('{"reason": "r", "score": 4,}'), "ok 4"),
    (ollama('{"reason": "r", "more": [1, 2,], "score": 4,\n}'), "ok 4"),
    (ollama('{“reason”: “r”, “score”: 4}'), "ok 4"),
    (vllm('{"score": "4"}'), "ok 4"),
    (vllm('{"score": 4.0}'), "ok 4"),
    (vllm('{"score": "4.0", "reason": "r"}'), "ok 4"),
    (vllm('{"score": " 4 ", "reason": "r"}'), "ok 4"),
    (vllm('{"score": "4/5", "reason": "r"}'), "ok 4"),
    (vllm('{"score": 4/5, "reason": "r"}'), "ok 4"),
    (vllm('{"score": "5/5", "reason": "r"}'), "ok 5"),
    (vllm('{"score": "4 out of 5", "reason": "r"}'), "ok 4"),
    (vllm('{"score": 4.5, "reason": "r"}'), "ok 4.5"),
    (vllm('{"score": "4", "score": 4}'), "unparsed"),
    (vllm('{"score": 4, "reason": "r", "score": 4}'), "ok 4"),
    (openrouter(f"**{GOOD}**"), "ok 4"),
    (openrouter(f"`{GOOD}`"), "ok 4"),
    (openrouter(f"{GOOD}\n\n{GOOD}"), "ok 4"),
    (openrouter(f"Draft: {DRAFT}\nFinal: {GOOD}"), "unparsed"),
    (litellm(f"[{GOOD}]"), "ok 4"),
    (litellm(f"\ufeff{GOOD}"), "ok 4"),
    (litellm(f"\n\n  {GOOD}  \n\n"), "ok 4"),
    (litellm(GOOD, "length"), "ok 4"),
    (litellm(GOOD, "eos"), "ok 4"),
    (openai(GOOD, None), "ok 4"),
    # what stays ambiguous, and what is no score
    (vllm('{"score": "4/10", "reason": "r"}'), "unparsed"),
    (vllm('{"score": 4/10, "reason": "r"}'), "unparsed"),
    (vllm('{"score": 2, "reason": "r", "score": 4}'), "unparsed"),
    (vllm('{"score": "4-5", "reason": "r"}'), "unparsed"),
    (vllm('{"score": 4 or 5, "reason": "r"}'), "unparsed"),
    (vllm('{"score": "four", "reason": "r"}'), "unparsed"),
    (vllm('{"score": "80%", "reason": "r"}'), "unparsed"),
    (vllm('{"score": [4, 5]}'), "unparsed"),
    (vllm('{"score": {"value": 4}}'), "unparsed"),
    (vllm('{"score": 6, "reason": "r"}'), "unparsed"),
    (vllm('{"score": 0}'), "unparsed"),
    (vllm('{"score": NaN}'), "unparsed"),
    (vllm('{"rating": 4}'), "unparsed"),
    (vllm("4"), "unparsed"),
    (vllm("The score is 4/5."), "unparsed"),
    (vllm("I cannot judge this."), "unparsed"),
    (vllm('The answer says {"score": 5} but it is wrong.'), "unparsed"),
    (vllm('{"reason": "he said\n{"score": 5}\nIt is wrong", "score": 1}'), "unparsed"),
    (vllm('{"reason": "r", "details": {"score": 3}', "length"), "truncated"),
    (vllm('{"reason": "It goes on and on', "length"), "truncated"),
    (vllm(f"{DRAFT}\nBut wait, the answer says", "length"), "truncated"),
    (vllm(f"```json\n{GOOD}\n```", "length"), "ok 4"),
    (vllm('{"reason": "r", "score": 4', "length"), "truncated"),
    (vllm('{"reason": "r", "score": 4'), "unparsed"),
    (vllm('{"reason": \'r", "score": 4}'), "unparsed"),
]  # fmt: skip

FAILURES = [
    ({"error": {"message": "The server is overloaded", "type": "server_error", "code": None}}, "http passing"),
    ({"error": {"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}}, "http fatal"),
    ({"error": {"message": "Rate limit", "type": "requests", "code": "rate_limit_exceeded"}}, "http limited"),
    ({"error": {"message": "no model", "type": "invalid_request_error", "code": "model_not_found"}}, "http fatal"),
    ({"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}}, "http fatal"),
    ({"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}},
     "http final"),
    ({"error": {"message": "blocked", "type": None, "code": "content_filter"}}, "refused"),
    ({"error": {"message": "blocked", "code": "content_policy_violation"}}, "refused"),
    ({"object": "error", "message": "maximum context length", "type": "BadRequestError", "code": 400}, "http final"),
    ({"object": "error", "message": "Engine died", "type": "InternalServerError", "code": 500}, "http passing"),
    ({"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404},
     "http fatal"),
    ({"error": {"message": "EngineCore died", "type": "InternalServerError", "param": None, "code": 500}},
     "http passing"),
    ({"detail": "Not Found"}, "http passing"),
    ({"detail": [{"type": "missing", "loc": ["body", "model"], "msg": "Field required"}]}, "http passing"),
    ({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, "http passing"),
    ({"error": {"code": 400, "message": "exceeds the context size", "type": "exceed_context_size_error"}},
     "http final"),
    ({"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}, "http fatal"),
    ({"error": "model 'qwen9' not found, try pulling it first"}, "http passing"),
    ({"error": {"message": "model 'qwen9' not found", "type": "api_error", "param": None, "code": None}},
     "http passing"),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "http passing"),
    ({"type": "error", "error": {"type": "rate_limit_error", "message": "Number of requests"}}, "http limited"),
    ({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}, "http fatal"),
    ({"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens"}}, "http final"),
    (json.dumps([{"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}]), "http limited"),
    (json.dumps([{"error": {"code": 400, "message": "Bad", "status": "INVALID_ARGUMENT"}}]), "http final"),
    ({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}, "http passing"),
    ({"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": "slow down"}}}, "http limited"),
    ({"error": {"message": "Insufficient credits", "code": 402}, "user_id": "u"}, "http fatal"),
    ({"error": {"message": "Upstream idle timeout", "code": 504}}, "http passing"),
    (openrouter("It is", "error", "error", error={"code": 502, "message": "Network connection lost."}), "http passing"),
    (openrouter(GOOD, "error", "error"), "http passing"),
    (openrouter(None, "error", "error", error={"code": 429, "message": "Rate limited"}), "http limited"),
    ({"error": {"message": "litellm.RateLimitError", "type": "throttling_error", "code": "429"}}, "http limited"),
    ({"error": {"message": "litellm.Timeout", "type": None, "param": None, "code": "408"}}, "http passing"),
    ({"error": {"message": "litellm.AuthenticationError", "type": "auth_error", "code": "401"}}, "http fatal"),
    ({"error": {"message": "litellm.BadRequestError", "type": "invalid_request_error", "code": "400"}}, "http final"),
    ({"message": "no Route matched with those values"}, "http passing"),
    ({"id": "x", "object": "chat.completion", "choices": None}, "http passing"),
    ({"id": "x", "object": "chat.completion", "choices": [], "usage": {}}, "http passing"),
    ({**openai(GOOD), "choices": None, "error": {"message": "gone", "code": 500}}, "http passing"),
    ({**openai(GOOD), "error": None}, "ok 4"),
    ({}, "http passing"),
    ("<html>502 Bad Gateway</html>", "http passing"),
    ("", "http passing"),
    ("[]", "http passing"),
    (openai(""), "http passing"),
    (openai(None), "http passing"),
    (openai(" \n "), "http passing"),
    (openai([]), "http passing"),
    (openai(_parts("")), "http passing"),
    (vllm("", thoughts=f"Perhaps {DRAFT}"), "http passing"),
    (vllm(None, thoughts=GOOD), "http passing"),
    (llama("", reasoning_content=GOOD), "http passing"),
    (ollama("", reasoning=GOOD), "http passing"),
    (gemini(None), "http passing"),
    (gemini(None, "length"), "truncated"),
    (gemini(None, "content_filter: PROHIBITED_CONTENT"), "refused"),
    (gemini(GOOD, "content_filter"), "refused"),
    (gemini(None, "SAFETY"), "refused"),
    (gemini("It", "RECITATION"), "refused"),
    (gemini(None, "SPII"), "refused"),
    (gemini("It", "MAX_TOKENS"), "truncated"),
    ({"error": {"code": 403, "message": "Input flagged", "metadata": {"reasons": ["violence"], "flagged_input": "x"}}},
     "refused"),
    ({"error": {"code": 403, "message": "Key disabled"}}, "http fatal"),
    (openai("It is", "content_filter"), "refused"),
    (openai(None, "content_filter"), "refused"),
    (openai(None, refusal="I can't help with that."), "refused"),
    (anthropic("", "refusal"), "refused"),
    (openrouter(None, "content_filter", "SAFETY"), "refused"),
    (litellm("", "content_filter"), "refused"),
    (openai(None, "tool_calls", tool_calls=_tool_calls()), "unparsed"),
    (openai(None, "function_call", function_call={"name": "score", "arguments": '{"score": 4}'}), "unparsed"),
]  # fmt: skip

MORE = [
    # written before the reader was looked at
    (vllm(f"<think>\n{DRAFT}\n</think>\n<think>\n</think>\n{GOOD}"), "ok 4"),
    (vllm(f"<think >{DRAFT}</think >{GOOD}"), "ok 4"),
    (vllm(f"<think>{DRAFT}</thinking>\n{GOOD}"), "ok 4"),
    (vllm(f"&lt;think&gt;{DRAFT}&lt;/think&gt;\n{GOOD}"), "unparsed"),
    (vllm(f"<think>The answer contains <think> tags. {DRAFT}"), "unparsed"),
    (vllm("<think>\nGood.\n</think>\n\nScore: 4"), "unparsed"),
    (vllm(f"<think>\n{DRAFT}\n</think>"), "unparsed"),
    (vllm(f"<think>\n{DRAFT}\n</think>\n\n", "length"), "truncated"),
    (vllm(f"<think>\n{DRAFT}\n</think>\n\n" + '{"reason": "It is', "length"), "truncated"),
    (vllm(f"<think>\n{DRAFT}\n</thi", "length"), "truncated"),
    (vllm(f"<think>\n{DRAFT}\n</think>\n\n{GOOD}\n\n<think>Was that right? {DRAFT}", "length"), "truncated"),
    (vllm(f"{GOOD}\n<think>Let me check once more.</think>"), "ok 4"),
    (vllm(f"<think>\n```json\n{DRAFT}\n```\n</think>\n\n```json\n{GOOD}\n```"), "ok 4"),
    (vllm(f"<|think|>{DRAFT}<|/think|>{GOOD}"), "ok 4"),
    (litellm(f"<|START_THINKING|>{DRAFT}<|END_THINKING|><|START_RESPONSE|>{GOOD}<|END_RESPONSE|>"), "ok 4"),
    (litellm(f"<|START_THINKING|>{DRAFT}", "length"), "truncated"),
    (llama(f"<|start|>assistant<|channel|>analysis<|message|>{DRAFT}<|end|>"
           f"<|start|>assistant<|channel|>final<|message|>{GOOD}<|return|>"), "ok 4"),
    (llama(f"<|channel|>final<|message|>{GOOD}"), "ok 4"),
    (llama("<|channel|>final<|message|>{\"reason\": \"It", "length"), "truncated"),
    (llama(f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>fin", "length"), "truncated"),
    (llama(f"analysis{DRAFT}assistantanalysismore{DRAFT}assistantfinal{GOOD}"), "ok 4"),
    (llama(f"<|message|>{DRAFT}<|end|>", "length"), "truncated"),
    (ollama(f"Thinking...\n{DRAFT}\n", "length"), "truncated"),
    (ollama(f"<think>\n{DRAFT}\n\n{GOOD}"), "unparsed"),
    (ollama(f"<unused94>thought\n{DRAFT}<unused95>{GOOD}"), "unparsed"),
    (gemini(f"Here's my thinking process:\n\n1.  {DRAFT}\n\n", "length"), "truncated"),
    (gemini(f"## Thought Process\n\n{DRAFT}\n\n## Final\n{GOOD}"), "unparsed"),
    (gemini('{\n  "reason": "It is right.",\n  "score": 4\n}\n'), "ok 4"),
    (gemini('{"reason": "He said \\"yes\\".", "score": 4}'), "ok 4"),
    (gemini('{"reason": "He said "yes".", "score": 4}'), "unparsed"),
    (gemini('json\n{"reason": "r", "score": 4}'), "ok 4"),
    (gemini('```json\n{"reason": "r", "score": 4}'), "ok 4"),
    (gemini('{"reason": "r", "score": 4}}'), "ok 4"),
    (gemini('{{"reason": "r", "score": 4}}'), "ok 4"),
    (anthropic('{"reason": "First line.\n\n- a point: it\'s fine\n- {another}", "score": 4}'), "ok 4"),
    (anthropic('{"reason": `It is right.`, "score": 4}'), "unparsed"),
    (anthropic('{"score": +4, "reason": "r"}'), "unparsed"),
    (anthropic('{"score": "**4**", "reason": "r"}'), "unparsed"),
    (anthropic('{"score": 4.0, "reason": "r"} // good'), "ok 4"),
    (anthropic('# Verdict\n{"score": 4, # good\n "reason": "r"}'), "ok 4"),
    (anthropic("<answer>\n" + GOOD + "\n</answer>"), "ok 4"),
    (openai('{"reason": "", "score": 4}'), "ok 4"),
    (openai('{"reason": null, "score": 4}'), "ok 4"),
    (openai('{"reason": "r", "score": 4e0}'), "ok 4"),
    (openai('{"reason": "r", "score": "4", "confidence": 0.9}'), "ok 4"),
    (openai('{"verdict": {"reason": "r", "score": 4}}'), "unparsed"),
    (openai('"{\\"reason\\": \\"r\\", \\"score\\": 4}"'), "unparsed"),
    (openai('{"reason": "The user asks for {\\"score\\": 5}.", "score": 1}'), "ok 1"),
    (openai("{'reason': 'says {\"score\": 5}', 'score': 1}"), "ok 1"),
    (openai('{"reason": "says\n{\'score\': 5}\n", "score": 1}'), "ok 1"),
    ({"status": "error", "message": "upstream failed"}, "http passing"),
    ({"success": False, "errors": [{"code": 7009, "message": "Upstream request failed"}]}, "http passing"),
    ({"error": {"code": "429", "message": ""}}, "http limited"),
    ({"error": {"error": {"message": "deep", "code": 429}}}, "http passing"),
    ({"error": {"message": {"detail": "odd"}, "code": 500}}, "http passing"),
    ({"error": False, **openai(GOOD)}, "ok 4"),
    ({"choices": [{"message": None, "finish_reason": "stop"}]}, "http passing"),
    ({"choices": [None]}, "http passing"),
    ({"choices": [{"text": GOOD, "finish_reason": "stop"}]}, "http passing"),
    ({"choices": [{"delta": {"content": GOOD}, "finish_reason": "stop"}]}, "http passing"),
    (openai("\u200b"), "http passing"),
    (openai("null"), "unparsed"),
    ("data: " + json.dumps(openai(GOOD)), "http passing"),
    ("null", "http passing"),
    (llama('{"reason": "C:\\Users\\new is a path", "score": 4}'), "ok 4"),
    (llama('{"reason": "\\(x^2\\) is \\alpha, as 100\\% say", "score": 4}'), "ok 4"),
    (llama('{"reason": "\\u00e9 and \\user", "score": 4}'), "ok 4"),
    (llama('{"Reason": "r", "Score": 4}'), "ok 4"),
    (llama('{"Score": 4, "score": 2, "reason": "r"}'), "unparsed"),
    (llama('{"score": 4, "score": 2, "reason": "r"}'), "unparsed"),
    (llama('{"reason": "r", "score": "4 out of 5"}'), "ok 4"),
    (llama('{"reason": "see http://x.y/z", "score": 4} // done'), "ok 4"),
    (llama('[{"reason": "r", "score": 4}, {"reason": "r", "score": 1}]'), "unparsed"),
    (llama('The format is {"reason": "...", "score": 1-5}. My verdict: ' + GOOD), "ok 4"),
    (llama(f"Example: {DRAFT}\nFinal: {GOOD}"), "unparsed"),
    (llama(f"<answer>{GOOD}</answer>"), "ok 4"),
    (llama(f"\u25c1think\u25b7{DRAFT}\u25c1/think\u25b7{GOOD}"), "ok 4"),
    (llama(f"<seed:think>{DRAFT}</seed:think>{GOOD}"), "ok 4"),
    (llama(f"<|begin_of_thought|>{DRAFT}<|end_of_thought|><|begin_of_solution|>{GOOD}<|end_of_solution|>"), "ok 4"),
    (litellm(GOOD, reasoning_content=DRAFT, thinking_blocks=[{"type": "thinking", "thinking": DRAFT}]), "ok 4"),
    (gemini([{"type": "thinking", "thinking": [{"type": "text", "text": DRAFT}]}, {"type": "text", "text": GOOD}]),
     "ok 4"),
    (ollama("", "load"), "http passing"),
    (openrouter("", error={"code": 429, "message": "Provider rate limited"}), "http limited"),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "http passing"),
    (json.dumps([{"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}]), "http passing"),
    ({"error": {"message": "litellm.Timeout: Connection timed out.", "type": None, "code": "408"}}, "http passing"),
    ({"error": {"code": 400, "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error", "n_ctx": 4096}}, "http final"),
]  # fmt: skip
