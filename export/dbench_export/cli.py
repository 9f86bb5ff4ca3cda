"""dbench-export: the command line."""

import argparse
import math
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from . import __version__
from .errors import ExportError, is_in_file

EXAMPLES = """\
examples:
  dbench-export mine.py:make --input float32[3,32,32] --classes 10 -o mine.pt2
        # make() returns a torch.nn.Module for images of 10 classes
  dbench-export lm.py:GPT --input int64[128] --classes 256 -o lm.pt2
        # a class without arguments; samples are texts of 128 bytes
  dbench-export fit.py:make --input float32[20] -o fit.pt2
        # without --classes: real targets, mean squared error
  dbench-export fit.py:make --input float32[20] --loss fit.py:quantiles -o fit.pt2
        # quantiles(outputs, targets) returns the loss
  dbench-export two.py:make --input left=float32[3,32,32] --input right=float32[3,32,32] \\
      --classes 2 -o two.pt2
        # forward(left, right); the data: {"type": "npz", "inputs": ["left", "right"], ...}
  dbench-export torchvision:googlenet --input float32[3,64,64] --classes 10 \\
      --auxiliary aux_logits1=0.3 --auxiliary aux_logits2=0.3 -o googlenet.pt2
  dbench-export torchvision:resnet50 --input float32[3,224,224] --classes 1000 -o resnet50.pt2
  dbench-export gpt2/config.json --input int64[256] --classes 50257 -o gpt2.pt2
        # a Hugging Face config; the weights are random
  dbench-export seg.py:make --input float32[3,64,64] --classes 5 --logits out -o seg.pt2
        # forward() returns a dict

The file then trains without Python: "model": {"type": "exported", "path": "mine.pt2"}
Exit status: 0 done, 2 the model or the command is at fault (the message says what to change).
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    main = argparse.ArgumentParser(
        prog="dbench-export", epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Write a PyTorch model to a file that `dbench run` trains without Python: its "
                    "graphs in train() and eval(), and its weights. The file is compared with the "
                    "module before it is stored.")
    main.add_argument("source", metavar="SOURCE",
                      help="FILE.py:FUNCTION (called without arguments, returns a module), "
                           "torchvision:NAME, or a config.json of Hugging Face")
    main.add_argument("--input", required=True, action="append", metavar="DTYPE[SHAPE]",
                      help="one sample, without the batch: float32[C,H,W] images, float32[D] "
                           "features, int64[T] tokens. Several inputs have names: "
                           "NAME=float32[...], NAME=int64[...]:COUNT or NAME=bool[...], where "
                           "NAME is an argument of forward() and an array of npz data")
    main.add_argument("--classes", type=int, metavar="N",
                      help="number of classes, or of different tokens. Without it the module "
                           "returns one real number per sample, and the loss is the mean "
                           "squared error")
    main.add_argument("-o", "--output", required=True, metavar="OUT.pt2", help="the file to write")
    main.add_argument("--loss", metavar="LOSS",
                      help="cross_entropy (default with --classes), mse (default without), or "
                           "FILE.py:FUNCTION, which receives what forward() returns and the "
                           "targets, and returns one number or one for each sample")
    main.add_argument("--auxiliary", action="append", default=[], metavar="NAME=WEIGHT",
                      help="another output of forward() in train(): the loss of its logits, or the "
                           "output itself if it is a loss, is added with this weight")
    main.add_argument("--logits", metavar="NAME",
                      help="which output of forward() holds the logits or values: a key of a dict, "
                           "or a position in a tuple")
    main.add_argument("--seed", type=int, default=0, metavar="N",
                      help="PyTorch's seed while the module is made (default %(default)s)")
    main.add_argument("--quiet", action="store_true", help="print only errors")
    main.add_argument("--version", action="version", version=__version__)
    return main


def read_weights(given: list[str]) -> dict[str, float]:
    """Return the weights of auxiliary losses by the names of their outputs."""
    weights = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        if name in weights:
            raise ExportError(f"--auxiliary {text}: the output {name} already has the weight "
                              f"{weights[name]:g}: keep one of the two")
        try:
            weights[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name or not math.isfinite(weights[name]):
            raise ExportError(f"--auxiliary {text}: it is not NAME=WEIGHT, such as aux=0.3")
    return weights


def has_own_loss(chosen: argparse.Namespace) -> bool:
    """Return whether --loss names a function."""
    return chosen.loss not in (None, "cross_entropy", "mse")


def check_options(chosen: argparse.Namespace):
    """Raise ExportError if options are wrong or do not fit together. Needs no PyTorch."""
    if chosen.classes is not None and chosen.classes < 2:
        raise ExportError("--classes: it must be at least 2: leave it out for real targets")
    if chosen.loss == "cross_entropy" and chosen.classes is None:
        raise ExportError("--loss cross_entropy: it needs --classes")
    if chosen.loss == "mse" and chosen.classes is not None:
        raise ExportError("--loss mse: it has no --classes: leave one of them out")
    auxiliary = read_weights(chosen.auxiliary)
    own = has_own_loss(chosen)
    if own and not is_in_file(chosen.loss):
        raise ExportError(f"--loss {chosen.loss}: it is neither cross_entropy, mse nor "
                          "FILE.py:FUNCTION: name a function of outputs and targets, such as "
                          "mine.py:loss")
    if own and auxiliary:
        raise ExportError("--auxiliary: a loss function receives all outputs: add the auxiliary "
                          "losses there, and leave this option out")
    output = Path(chosen.output)
    if output.suffix != ".pt2":
        raise ExportError(f"--output: '{output}' does not end in .pt2")
    if not output.parent.is_dir():
        raise ExportError(f"--output: {output.parent} is no folder: make it first")


def export(chosen: argparse.Namespace) -> str:
    """Write the file, and return one line that describes it."""
    check_options(chosen)
    try:
        import torch
    except (ImportError, OSError) as error:
        raise ExportError(f"Python cannot import torch ({error}): run dbench-export in an "
                          "environment with PyTorch: pip install -e 'export[torch]'") from error
    from . import archive, graphs, inputs, losses, outputs, refusals, sources, verification
    from .changes import check_changes

    output, own = Path(chosen.output), has_own_loss(chosen)
    torch.set_num_threads(1)  # sums of several threads may differ from run to run
    sample = inputs.read_inputs(chosen.input, chosen.classes)
    files: sources.Files = {}
    module = sources.make_module(chosen.source, chosen.classes, sample.kind == "tokens",
                                 chosen.seed, files)
    refusals.check_parameters(module)
    refusals.check_modules(module)
    inputs.join_inputs(module, sample)
    example = sample.draw(graphs.BATCH, verification.SEED)
    loss = losses.Loss(chosen.classes, sample.kind == "tokens", length=sample.shape[0])
    if own:
        loss.source = chosen.loss
        loss.function = losses.read_function(sources.find_in_file(chosen.loss, files),
                                             chosen.loss)
    others = outputs.reduce_outputs(module, example, chosen.logits, loss,
                                    read_weights(chosen.auxiliary))
    refusals.check_evaluation(module, example)
    returned = outputs.tensors_of(module(example))
    if not own or chosen.classes is not None:
        outputs.check_shape(returned[loss.main], sample, graphs.BATCH, chosen.classes)
    outputs.check_rows(module, sample, graphs.BATCH, loss)
    unused = refusals.check_training(module, sample, loss)
    programs = graphs.export_graphs(module, example)
    check_changes(programs)
    outputs.check_growth(programs["train"])
    if own:
        programs["loss"] = graphs.export_loss(
            loss, returned, losses.draw_targets(sample, graphs.BATCH, loss.classes, 1))
    numbers = verification.measure_module(module, sample, loss)
    described = archive.manifest(module, programs, chosen.source, sample, loss)
    described["check"], entries = archive.checks(numbers, sample, loss)
    with tempfile.TemporaryDirectory(prefix=".dbench-export-", dir=output.parent) as folder:
        written = Path(folder) / output.name
        archive.write(written, programs, described, entries)
        apart = verification.compare(module, numbers, archive.read(written), sample, loss)
        os.replace(written, output)
    if not chosen.quiet:
        print_notes(others, unused, apart)
    nodes = sum(node.op == "call_function" for node in programs["train"].graph.nodes)
    return (f"{output}: {described['parameters']} parameters in {len(list(module.parameters()))} "
            f"tensors, {nodes} operators; outputs, gradients and buffers are those of the module"
            + (" up to rounding" if apart else ""))


def print_notes(others: Sequence[str], unused: Sequence[str], apart: float):
    """Print what the user may not expect: outputs that are not used, parameters without a gradient,
    and by how much numbers differ from those of the module."""
    if others:
        print(f"dbench-export: note: DBench does not use the other outputs: {', '.join(others)}")
    if unused:
        print("dbench-export: note: only weight decay changes these parameters, because they get "
              f"no gradient: {', '.join(unused)}")
    if apart:
        print("dbench-export: note: the module calls other operators while it is exported, so that "
              f"numbers differ by rounding: by {apart:.0e} of the largest one")


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit status."""
    chosen = parser().parse_args(arguments)
    try:
        line = export(chosen)
    except ExportError as error:
        print(f"dbench-export: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"dbench-export: {error.filename or chosen.output}: {error.strerror or error}: is "
              "the folder there and writable?", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"dbench-export: this Python has no package {error.name}, which the model or PyTorch "
              "needs: install it, or pip install -e 'export[torch]' for all that PyTorch needs",
              file=sys.stderr)
        return 2
    except Exception as error:  # of PyTorch, for a model that no check has foreseen
        traceback.print_exc()
        print(f"dbench-export: {chosen.source}: PyTorch failed ({type(error).__name__}, see "
              "above): export parts of the model alone to find the fault", file=sys.stderr)
        return 2
    if not chosen.quiet:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
