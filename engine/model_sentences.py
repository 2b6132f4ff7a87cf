"""What the engine says of models: their files, the memory that they need, and how they run. See `engine.sentences`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MODEL_SENTENCES: Final[Mapping[str, str]] = {
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
    "file-heads": (
        "{file} has attention heads of {widths} numbers, and q8_0 keeps {count} at a time. Set kv_type to f16."
    ),
    "file-parts-count": (
        "{file} is one of {count} files, and {there} are there. Download the model again, with all its files."
    ),
    "file-many-parts": "{file} claims to be one of {count} files; 1 to {most} are possible. Download it again.",
    "file-part-name": (
        "{file} is one of {count} files by its header, but not by its name. Give it its name back, which ends in "
        "{ending} for the first."
    ),
    "file-part-other": "{file} is not the part that its name says. Download it again.",
    "file-tensor-twice": "The parts of {file} hold one tensor twice. Download them again.",
    "file-tensor-astray": (
        "{file} holds the tensor {tensor}, which the index does not place there. Download the model again."
    ),
    "file-lacks": "{file} does not say its {key}. It is damaged: download it again.",
    "file-misstates": "{file} says that its {key} is {shown}, where {wanted} is due. It is damaged: download it again.",
    "shown-list": "a list of {count}",
    "wanted-text": "a text",
    "wanted-number": "a whole number of {low} to {high}",
    "wanted-by-layer": "a number for each of {count} layers",
    "file-changed": "{file} changed while it was read. Try again.",
    "file-too-large": "{file} has more than {size} MiB. It is damaged: download it again.",
    "file-no-json": "{file} is no JSON. It is damaged: download it again.",
    "file-not-safetensors": "{file} is not a safetensors file: it has {size} bytes. Download it again.",
    "file-no-safetensors-file": "{file} is not a file. Choose the .safetensors file itself.",
    "folder-no-safetensors": "{folder} holds no .safetensors file. Choose the folder that does.",
    "folder-several-models": "{folder} holds several models, {file} among them. Choose one of the files.",
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
    "gpu-too-small": (
        "Not even one layer fits on {gpu}: that needs {needed}, and {usable} of {total} can be used now."
    ),
    "gpu-trial-failed": "A trial with layers on {gpu} ended badly, so the processor has them all.",
    # copies in another format
    "copy-no-tokenizer": "{file} holds no tokenizer, so no text can tell it from a copy. Take another file.",
    "copy-of-parts": "{file} is one of {count} files. Copies are made of models in one file: take one of those.",
    "copy-slow": (
        "A copy of {file} in {format} was not whole after {minutes} minutes, so it was given up. Take a smaller "
        "model, or try when this machine has less to do."
    ),
    "copy-refused": "llama.cpp makes no copy of {file} in {format}: {reason}. Take another format.",
    "copy-crashed": "it crashed ({detail})",
    "copy-damaged": "The copy in {format} is damaged. Look at the free space of its disk, and try again.",
    "copy-other-format": "llama.cpp made a copy in {made}, where {format} was wanted. Take another format.",
    "compare-slow": (
        "Measuring {file} took more than {minutes} minutes, so it was given up. Try when this machine has less to"
        " do."
    ),
    "compare-crashed": "llama.cpp crashed while it measured {file} and its copy ({detail}). Try another format.",
    "compare-vocabulary": "The copy has another vocabulary than the original: it is no copy of it. Remove it.",
    # llama.cpp, and what it is given
    "no-library": "llama-cpp-python is not installed. Install Inglenook again.",
    "file-refused": "llama.cpp refuses {file}: {detail}. Get the file again, or take another model.",
    "file-encoder": "{file} cannot continue a text: it is an encoder. Take a chat model instead.",
    "adapter-refused": (
        "llama.cpp refuses the adapter {file}: {detail}. Get the file again, or add the model again without it."
    ),
    "no-context": "llama.cpp cannot make a context of {size} tokens: {detail}. {advice}",
    "advice-context": "Set a smaller context.",
    "advice-context-chats": "Set a smaller context or fewer chats at once.",
    "no-memory-of-text": "llama.cpp keeps no memory of a text for this model: it cannot chat. Take another.",
    "draft-forgets": "{model} cannot draft: what it guessed wrong cannot be cut from its state. Take another.",
    "draft-size": (
        "{model} cannot draft for this model: it has {count} tokens, not {wanted}. Take a smaller model of the "
        "same family, or leave draft_model out."
    ),
    "draft-tokens": (
        "{model} cannot draft for this model: its tokens stand for other texts. Take a smaller model of the same "
        "family, or leave draft_model out."
    ),
}
