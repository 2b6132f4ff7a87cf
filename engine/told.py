"""What the engine tells people: a sentence in English that knows which one it is, so that pages can say it in another.

The engine knows no catalogue. `app.errors` looks the same sentence up there, as `engine-<code>`; a test holds the two
to the same words. Pure, from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Value = str | int          # a string may be `Told` itself: a sentence within a sentence


class Told(str):
    """`str` in every respect, as logs and the API have it."""

    __slots__ = ("code", "values")

    code: str
    values: Mapping[str, Value]

    def __new__(cls, code: str, /, **values: Value) -> Told:
        told = super().__new__(cls, SENTENCES[code].format(**values))
        told.code, told.values = code, values
        return told

    def __deepcopy__(self, _memo: object) -> Told:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _told, (self.code, dict(self.values))


def _told(code: str, values: Mapping[str, Value]) -> Told:
    return Told(code, **values)


SENTENCES: Final[Mapping[str, str]] = {
    # memory: what is needed, what there is, and what to do
    "needs-memory": (
        "{model} needs {needed} with {chats} x {context} tokens of context ({weights} of it weights); {usable} of "
        "{total} can be used now. {advice}"
    ),
    "needs-memory-beside-gpu": (
        "{model} needs {needed} beside {layers} layers on {gpu} with {chats} x {context} tokens of context ({weights} "
        "of it weights); {usable} of {total} can be used now. {advice}"
    ),
    "needs-gpu-memory": (
        "{model} needs {needed} of {gpu} for {layers} layers with {chats} x {context} tokens of context; {usable} of "
        "{total} can be used now. Set fewer gpu_layers, or leave them out: then as many are taken as fit."
    ),
    "needs-budget": (
        "{model} needs {needed} with {chats} x {context} tokens of context ({weights} of it weights); {left} of the "
        "memory budget are left. {advice}"
    ),
    "needs-memory-to-compare": (
        "Measuring {model} beside a copy needs {needed} of memory, and {usable} can be used now. Close other programs, "
        "or a running Inglenook."
    ),
    "needs-weights": (
        "{reason} With its weights in {format} it fits: inglenook models set {id} --weights {value}."
    ),
    "advice-limits": "It fits with {chats} x {context} tokens: lower your limits.",
    "advice-limits-gpu": (
        "It fits with {chats} x {context} tokens and {layers} layers on {gpu}: leave your limits out."
    ),
    "advice-close": "Close other programs or unload another model, then load it again.",
    "advice-smaller": "Close other programs, unload another model, or take one whose file has at most {largest}.",
    "advice-budget": "Lower its own limits, unload another model, or raise the budget.",
    "advice-budget-smaller": (
        "Unload another model, raise the budget, or take a model whose file has at most {largest}."
    ),
    # files
    "file-gone": "{path} is gone. Put the file back where it was, or remove the model here.",
    "file-unreadable": "{path} cannot be read: {detail}. Check the path and its permissions.",
    "file-damaged": "{file} {fault}. The file is damaged: download it again.",
    "file-cut-off": (
        "{file} is cut off: it should have at least {whole} bytes and has {there}. The file is damaged: download it "
        "again."
    ),
    "file-not-gguf": "{file} is not a GGUF file. Choose a file that ends in .gguf and was downloaded whole.",
    "file-big-endian": "{file} is a GGUF file for big-endian machines. Get the little-endian file.",
    "file-version": (
        "{file} has GGUF version {version}; versions 2 and 3 can be read. Get a newer file of this model."
    ),
    "file-tensor-type": "{file} has the tensor {tensor} in the unknown type {kind}. Take another quantisation of it.",
    "file-part-missing": "Part {number} of {count} is missing: {file}. Download it into the same folder.",
    "file-first-part": "{file} is one of {count} files. Choose the first, {first}.",
    "file-no-weights": "{file} holds no weights. Choose another file of this model.",
    "file-no-tokenizer": "{file} holds no tokenizer, so text cannot be fed to it. Take another file of this model.",
    "file-other-kind": "{file} is {kind}.",
    "kind-mmproj": "the part of a model that reads images. Choose the model itself",
    "kind-adapter": "an adapter (LoRA). Choose the model that it belongs to",
    "kind-imatrix": "a table for quantising. Choose the model that it belongs to",
    "file-ranks": (
        "{file} ranks texts (a reranker), which this version cannot do. Choose a model for embeddings, or one for chat."
    ),
    "file-unfinished": "{file} is not downloaded whole. Resume the download.",
    "file-not-a-file": "{file} is not a file. Choose the .gguf file itself.",
    "file-no-torch": (
        "{file} is in the safetensors format, for which PyTorch is needed: pip install 'inglenook[gpu]'. Or take the "
        "GGUF file of the same model."
    ),
    "file-of-folder": (
        "{file} is one file of a model in the safetensors format. Choose the folder that it lies in."
    ),
    "file-pickle": (
        "{file} is a pickle: loading it could run any program hidden inside, so it is never opened. Take the GGUF file "
        "of the same model."
    ),
    "file-old": "{file} is in an old format. Take its GGUF file.",
    "file-no-gguf": "{file} is called .gguf but is not a GGUF file. Download it again.",
    "file-no-model-folder": "{file} is a folder without a model. Choose a file, or another folder.",
    "file-no-model": "{file} is no model that can be run here. Take a GGUF file.",
    # adapters (LoRA)
    "adapter-missing": "There is no adapter {path}. Put the file there, or add the model again without it.",
    "adapter-none": "{file} is no adapter. Choose a LoRA adapter in the GGUF format.",
    "adapter-kind": "{file} is an adapter of the kind {kind}; only 'lora' can be used.",
    "adapter-alora": "{file} acts from certain words on (aLoRA), which this version cannot do. Take a plain LoRA.",
    "adapter-alpha": "{file} has an adapter.lora.alpha that is no number. It is damaged: get it again.",
    "adapter-empty": "{file} holds no weights. Take another adapter.",
    "adapter-architecture": (
        "{file} is an adapter for the architecture {kind}, and {base} has {other}. Choose the model that it was made "
        "for."
    ),
    "adapter-part": "{file} holds {tensor}, which is no part of a LoRA adapter. Take another.",
    "adapter-type": "{file} has {tensor} in the type {kind}. Convert it to F16.",
    "adapter-half": "{file} has one of two matrices for {tensor}. It is damaged: get it again.",
    "adapter-unfit": (
        "{file} does not fit {base}: its matrices for {tensor} have no weight of that shape there. Choose the model "
        "that it was made for."
    ),
    "adapter-scale": "{file} cannot act with the scale {scale}. Give a number of {low} to {high}.",
    "adapter-safetensors": "{model} is in safetensors, where adapters do not act yet. Add it without them.",
    "adapter-embedding": "{model} embeds texts; adapters act only on models that write. Add it again without them.",
    "adapter-gguf": "Adapters act on GGUF files only. Add the model without them.",
    # loading
    "load-failed": "{model} could not be loaded: {detail}. Try again.",
    "no-such-gpu": "main_gpu is set to {number}; here {known}. Choose one of them.",
    # folders in the safetensors format
    "folder-no-tokenizer": "{folder} has no tokenizer.json. Download the model again, with all its files.",
    "folder-no-weights": "{folder} holds no .safetensors file. Download the model again.",
    "folder-file-missing": "{file} is missing in {folder}. Download the model again: only that is fetched.",
    "folder-config": "{folder}/config.json lacks or misstates {detail}. Download the model again.",
    "folder-config-wrong": "{folder}/config.json misstates {detail}. Download the model again.",
    "folder-quantised": (
        "{folder} is quantised in a way that does not run here: {detail}. Take the original, its GGUF file, or one in "
        "GPTQ or AWQ with 4 bits."
    ),
    "folder-file-large": "{file} of {folder} is far too large. Download the model again.",
    "folder-file-unreadable": (
        "{file} of {folder} cannot be read: {detail}. Choose the model's whole folder, or download it again."
    ),
    "folder-file-broken": "{file} of {folder} is broken: {detail}. Download it again.",
    "folder-file-unusable": "{file} of {folder} cannot be used: {detail}. Download it again.",
    "folder-file-empty": "{file} of {folder} holds no settings. Download the model again.",
    "folder-tensor-missing": "{folder} lacks the tensor {tensor}. Download the model again.",
    "folder-tensor-shape": (
        "{tensor} of {folder} is {shape}, though config.json says {wanted}. Download the model again."
    ),
    "folder-tensor-unreadable": "{tensor} of {folder} cannot be read: {detail}. Download the model again.",
    "safetensors-cut-off": "{file} is no whole safetensors file: {detail}. Download it again.",
    # models in safetensors that transformers' own code would run
    "family-not-loaded": "transformers cannot load {model}: {detail}. Take its GGUF file.",
    "family-unknown": (
        "{model} is of the kind {kind}, which is not known here, and code from downloads is never run. Take its GGUF "
        "file, or another model."
    ),
    "family-encoder": (
        "{model} is an encoder with a decoder, made to turn texts into others. Take a model made for chat."
    ),
    "family-images": (
        "{model} reads more than text, and its kind, {kind}, does not run here from safetensors. Take its GGUF file."
    ),
    "family-no-text": "{model} is no model that writes ({kind}). Take a model made for chat.",
    "family-quantised": (
        "{model} is quantised, and models of the kind {kind} run here only as they were made. Take the original, or "
        "its GGUF file."
    ),
    "family-recurrent": (
        "{model} keeps a running state in some of its layers, which does not run here from safetensors. Take its GGUF "
        "file."
    ),
    "family-attention": (
        "{model} attends to its text in a way of its own, which does not run here from safetensors. Take its GGUF file."
    ),
    "family-rotation": (
        "{model} would read each text otherwise beside a longer one, so it does not run here from safetensors. Take "
        "its GGUF file."
    ),
    "family-weights": (
        "{model} is of the kind {kind}, whose weights can only be loaded as they are. Leave its weights as on disk: "
        "inglenook models set {id} --weights auto."
    ),
    "needs-host-memory": (
        "{model} passes through this machine's memory on its way to the GPU: it needs {needed}, and {usable} can be "
        "used now. Close other programs, or take its GGUF file."
    ),
    # trying a model
    "trial-slow": "{model} gave no token in {seconds} s, so it was given up. Take a smaller model.",
    "trial-crashed": (
        "llama.cpp crashed when it tried {model} ({detail}). Get the file again, or take another quantisation or model."
    ),
    "trial-failed": "{detail}",
    "trial-replaced": "{model} was replaced while it was tried. Load it again.",
    "no-gpu": (
        "gpu_layers is set to {layers}, but llama.cpp finds no GPU here. Leave it out, or set Inglenook up again with "
        "a build for your GPU, as in CMAKE_ARGS=-DGGML_CUDA=ON."
    ),
    # chat templates
    "template-refuses": "The model's chat template refuses these messages: {detail}",
    "template-broken": "The model's chat template is broken in line {line}: {detail}",
    "template-deep": "The model's chat template is nested too deeply.",
    "template-failed": "The model's chat template failed on these messages: {detail}",
    "template-long": "The model's chat template is longer than {count} characters: not used.",
    "template-stopped": (
        "The model's chat template was stopped, because it {deed}. Use a model with another template."
    ),
    "deed-slow": "worked for more than {seconds} s",
    "deed-namespace": "prints or nests a namespace",
    "deed-text": "builds a text of more than {count} characters",
    "deed-items": "builds a value of more than {count} items",
    "deed-number": "computes a number of more than {count} bits",
    "deed-pads": "pads a text to thousands of characters",
    "deed-calls": "calls {name}, which is not for templates",
    "template-drops-last": "The model's chat template leaves the last message out, so it cannot be continued.",
    "continues-nothing": "Only an assistant message can be continued, as the last one.",
    "template-none": (
        "{model} has no chat template, so it cannot answer messages. Send it a raw prompt at /v1/completions, or "
        "choose a model made for chat."
    ),
    # while it answers
    "unloaded": "{model} has been unloaded. Load it again, or choose another model.",
    "unreadable-answer": "{model} could not read what the model said. Ask again.",
    # servers elsewhere
    "elsewhere-unreachable": (
        "{connection} cannot be reached at {host} ({detail}). See that its server runs, and that the address is right."
    ),
    "elsewhere-slow": (
        "{connection} sent nothing for {seconds} s. Its server may be loading the model, or have too much to do: try "
        "again later."
    ),
    "elsewhere-cut": "{connection} broke off before its answer was whole. Ask again.",
    "elsewhere-garbage": (
        "{connection} sent what is no answer of OpenAI's API: {detail}. See that its address is that of the API; "
        "mostly it ends in /v1."
    ),
    "elsewhere-huge": "{connection} sent more than {size} in one answer, so it was given up. Ask for less.",
    "elsewhere-key": (
        "{connection} does not take the key (HTTP {status}). An admin can enter another on the page Models. It says: "
        "{detail}"
    ),
    "elsewhere-busy": "{connection} has too much to do (HTTP {status}). Try again in {seconds} s.",
    "elsewhere-locked": (
        "The key or the headers of {connection} cannot be read any more, because secrets.key in the data folder is "
        "gone or another. Put that file back, or remove the connection and add it anew."
    ),
    "elsewhere-redirect": (
        "{connection} sends requests on to {target}, where nothing was sent. If that is right, enter that address."
    ),
    "elsewhere-refused": "{connection} refused the request: {detail}",
    "elsewhere-status": "{connection} answered with HTTP {status}: {detail}",
    "elsewhere-said": "{connection} gave up its answer: {detail}",
    "elsewhere-switched-off": "{connection} was switched off meanwhile, so no more is asked of it.",
    "elsewhere-no-endpoint":
        "No connection leads to {model} now. An admin can switch one on, on the page Models or with `inglenook "
        "connections on NAME`.",
    "elsewhere-no-continue": (
        "{connection} cannot go on with an answer that was begun. Ask for another answer instead."
    ),
    "elsewhere-no-tools":
        "{model} at {connection} does not support tools: it was tried, and called none. Leave them out, or choose "
        "another model.",
    "elsewhere-no-form": (
        "{model} at {connection} was tried and did not keep to a form. Leave {param} out, or choose another model."
    ),
    "elsewhere-no-grammar": "{connection} does not take {param}. Give a JSON schema, or choose another model.",
}
