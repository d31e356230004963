"""Try the provider for OpenAI-compatible servers on `transformers serve` with a tiny model of random weights.

    python3 -m venv ENV && ENV/bin/pip install torch 'transformers[serving]'     # some GB; thrown away afterwards
    .venv/bin/python scripts/real_server.py --python ENV/bin/python

The model is made on the spot, so nothing is downloaded at run time and its words mean nothing: what is tried is the
protocol. Prints a table in Markdown; the exit code is 1 when something is not as expected. Not part of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from agents.llm.base import Cancelled, Completion, ContextTooLong, LLMError, Message, ModelRefused
from agents.llm.openai import OpenAIProvider
from agents.llm.runner import ModelRunner
from agents.llm.tokens import count_messages

WINDOW = 2048
MAKE_MODEL = f"""
import sys, torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
torch.manual_seed(0)
tokens = Tokenizer(models.BPE())
tokens.pre_tokenizer, tokens.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
alphabet = pre_tokenizers.ByteLevel.alphabet()
tokens.train_from_iterator(["def add(a, b):"], trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet))
fast = PreTrainedTokenizerFast(tokenizer_object=tokens, eos_token="<|im_end|>", pad_token="<|endoftext|>")
fast.chat_template = (
    "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\\n{{{{ m.content }}}}<|im_end|>\\n{{% endfor %}}"
    "{{% if add_generation_prompt %}}<|im_start|>assistant\\n{{% endif %}}"
)
ends = dict(eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id)
sizes = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
config = Qwen2Config(vocab_size=len(fast), max_position_embeddings={WINDOW}, bos_token_id=None, **sizes, **ends)
Qwen2ForCausalLM(config).save_pretrained(sys.argv[1])
fast.save_pretrained(sys.argv[1])
GenerationConfig(do_sample=True, **ends).save_pretrained(sys.argv[1])
"""


def conversation(words: int = 3) -> list[Message]:
    """A system prompt and a question of so many words."""
    return [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "add two numbers " * words}]


@contextmanager
def serving(python: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """A server with the model, until the block ends; its address and the model's name."""
    model, port = str(folder / "model"), free_port()
    (folder / "home" / "hub").mkdir(parents=True)
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    subprocess.run([python, "-c", MAKE_MODEL, model], env=environment, check=True, capture_output=True)
    line = [python.with_name("transformers"), "serve", model, "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen([*line, "--device", "cpu"], env=environment, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server)
        yield f"http://127.0.0.1:{port}", model
    finally:
        server.terminate()
        server.wait(30)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    """Return when the server answers; raises RuntimeError when it ended or takes more than five minutes."""
    for _ in range(300):
        try:
            if httpx.get(address, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        if server.poll() is not None:
            raise RuntimeError("the server ended; its log is server.log")
        time.sleep(1)
    raise RuntimeError("the server did not answer within five minutes")


class Trials:
    """What was tried, as rows of a table."""

    def __init__(self, runner: ModelRunner, server: str, model: str) -> None:
        self.runner, self.server, self.model, self.failed = runner, server, model, 0

    def provider(self, model: str = "", window: int = WINDOW) -> OpenAIProvider:
        """A provider as the product makes it."""
        return OpenAIProvider(self.server, model or self.model, window=window)

    def ask(self, provider: OpenAIProvider, messages: list[Message], **options: Any) -> tuple[Completion, int, float]:
        """The completion, and the number of pieces it came in and after how many seconds the first."""
        began, times = time.monotonic(), list[float]()
        made = self.runner.complete(
            provider, messages, on_delta=lambda _: times.append(time.monotonic() - began), **options
        )
        return made, len(times), times[0] if times else 0.0

    def row(self, what: str, expected: bool, found: str) -> None:
        """Print a line."""
        self.failed += not expected
        print(f"| {what} | {'as expected' if expected else '**not as expected**'} | {found} |", flush=True)

    def error(self, what: str, kind: type[LLMError], call: Callable[[], object]) -> None:
        """Print what error a call ends with."""
        try:
            self.row(what, False, f"no error: {call()!r}"[:160])
        except LLMError as error:
            text = str(error).replace(self.model, "MODEL").replace(self.server.removeprefix("http://"), "HOST")
            self.row(what, isinstance(error, kind), f"{type(error).__name__}: {text}")


def tried(trials: Trials) -> None:
    """Everything, one after the other."""
    provider, short = trials.provider(), conversation()
    health = provider.health()
    trials.row("health", health.ok, health.problem or f"ok, models listed: {len(health.models)}")
    made, pieces, first = trials.ask(provider, short, max_tokens=64, temperature=0.01)
    found = f"{pieces} pieces, first after {first:.2f} s, reason {made.done_reason}"
    trials.row("stream, cut at max_tokens=64", pieces > 1 and made.truncated, found)
    usage, estimate = made.usage, count_messages(short)
    counted = f"{usage.prompt_tokens} read (own estimate {estimate}), {usage.completion_tokens} written"
    trials.row("usage", not usage.estimated, counted)
    # The end is one of about 260 equally likely tokens, so it comes long before the window is full.
    made, _, _ = trials.ask(provider, short, max_tokens=1900, temperature=1.0)
    stopped = f"reason {made.done_reason} after {made.usage.completion_tokens} tokens"
    trials.row("stop by itself", made.done_reason == "stop" and not made.truncated, stopped)
    arrived, began = list[str](), time.monotonic()
    try:
        trials.runner.complete(
            provider,
            short,
            max_tokens=1900,
            temperature=0.01,
            on_delta=arrived.append,
            cancelled=lambda: bool(arrived),
        )
        trials.row("cancel after the first piece", False, "it went on to its end")
    except Cancelled:
        seconds = time.monotonic() - began
        trials.row("cancel after the first piece", True, f"ended after {seconds:.2f} s and {len(arrived)} pieces")
    made, _, first = trials.ask(provider, short, max_tokens=8)
    trials.row("the next call", bool(made.text), f"first piece after {first:.2f} s")
    long = conversation(4 * WINDOW)
    trials.error("overflow, window known", ContextTooLong, lambda: trials.ask(provider, long, max_tokens=8))
    # About 1,100 tokens by estimate; the tokenizer, which knows one word, counts a token for almost each letter.
    dense = conversation(300)
    trials.error("overflow that only the server counts", ContextTooLong, lambda: trials.ask(provider, dense))
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    made, _, _ = trials.ask(provider, short, schema=schema, max_tokens=16)
    trials.row("schema", bool(made.text), "taken, and not obeyed: the reply is free text")
    trials.error("another model", ModelRefused, lambda: trials.ask(trials.provider("absent"), short, max_tokens=8))
    trials.error("embeddings", LLMError, lambda: asyncio.run(provider.embed(["a"])))


def main() -> int:
    """Start the server, try everything, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, required=True, help="of an environment with transformers[serving]")
    python = parser.parse_args().python.absolute()
    with tempfile.TemporaryDirectory() as folder, serving(python, Path(folder)) as (server, model):
        print("| what | | found |\n|---|---|---|")
        with ModelRunner(attempts=1) as runner:
            trials = Trials(runner, server, model)
            tried(trials)
    return 1 if trials.failed else 0


if __name__ == "__main__":
    sys.exit(main())
