"""Write files of exported models as dbench-export does, without PyTorch."""

import io
import json
import zipfile

import numpy as np

NUMBERS = {"float32": 7, "float64": 8, "int64": 5, "bool": 12, "complex64": 10}


def argument(value):
    """Return one argument of a node: a str is a value of the graph, "-Infinity" a number."""
    if isinstance(value, dict):
        return value
    if value is None:
        return {"as_none": True}
    if value == "-Infinity":
        return {"as_float": value}
    for kind, name in ((str, "as_tensor"), (bool, "as_bool"), (int, "as_int"), (float, "as_float")):
        if isinstance(value, kind):
            return {name: {"name": value} if kind is str else value}
    return {"as_ints" if all(isinstance(each, int) for each in value) else "as_sym_ints":
            [each if isinstance(each, int) and all(isinstance(k, int) for k in value)
             else {"as_int": each} if isinstance(each, int) else {"as_name": each}
             for each in value]}


def tensor(array, trains):
    return {"dtype": NUMBERS[str(array.dtype)], "sizes": [{"as_int": n} for n in array.shape],
            "requires_grad": trains, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": n // array.itemsize} for n in array.strides],
            "storage_offset": {"as_int": 0}, "layout": 7}


class Graph:
    """One graph. `weights` maps names of parameters and of buffers to their kinds; `given` are the
    names of the user's inputs, and `outputs` those of further results."""

    def __init__(self, weights, batch=None, given=("x",)):
        self.nodes, self.values, self.output, self.outputs = [], {}, None, []
        self.inputs = [{"user_input": {"arg": {"as_tensor": {"name": name}}}} for name in given]
        self.batch, self.given = batch, given
        for name, kind in weights.items():
            spec = {"arg": {"name": self.slot(name)}, f"{kind}_name": name}
            self.inputs.append({kind: {**spec, "persistent": True} if kind == "buffer" else spec})

    @staticmethod
    def slot(name):
        return "w_" + name.replace(".", "_")

    def add(self, operator, result, /, **given):
        """Add a node. `result` names its value."""
        target = operator if operator[0] == "_" else "torch.ops.aten." + operator
        out = {"as_sym_int": {"as_name": result}} if operator[0] == "_" or "sym_size" in operator \
            else {"as_tensor": {"name": result}}
        self.nodes.append({"target": target, "outputs": [out], "metadata": {}, "inputs": [
            {"name": name, "arg": argument(value), "kind": 1} for name, value in given.items()]})
        self.output = result
        return result

    def document(self):
        first = {"as_int": self.batch} if self.batch else {
            "as_expr": {"expr_str": "Symbol('s77', positive=True, integer=True)"}}
        return {"graph_module": {
            "graph": {"nodes": self.nodes, "tensor_values": {
                name: {"sizes": [first]} for name in self.given}},
            "signature": {"input_specs": self.inputs, "output_specs": [
                {"user_output": {"arg": {"as_tensor": {"name": name}}}}
                for name in [self.output, *self.outputs]]}},
            "range_constraints": {"s77": {"min_val": 1, "max_val": None}},
            "schema_version": {"major": 8, "minor": 17}, "torch_version": "2.11.0"}


def pack(train, evaluate, arrays, manifest, parameters, changes=None, loss=None):
    """Return the bytes of a file. `changes` maps names of entries to functions of their bytes."""
    config, entries = {}, {}
    if loss:
        entries["models/loss.json"] = json.dumps(loss.document()).encode()
        manifest = {**manifest, "format": 2, "loss": "graph", "loss_graph": "loss"}
    for k, (name, array) in enumerate(arrays.items()):
        trains = name in parameters
        config[name] = {"path_name": f"weight_{k}", "is_param": trains, "use_pickle": False,
                        "tensor_meta": tensor(array, trains)}
        entries[f"data/weights/weight_{k}"] = array.tobytes()
    for name, graph in (("train", train), ("eval", evaluate)):
        entries[f"models/{name}.json"] = json.dumps(graph.document()).encode()
        entries[f"data/weights/{name}_weights_config.json"] = json.dumps(
            {"config": config}).encode()
    entries["extra/dbench.json"] = json.dumps(
        {"format": 1, "train": "train", "eval": "eval", **manifest}).encode()
    entries["byteorder"] = b"little"
    for name, change in (changes or {}).items():
        entries[name] = change(entries.get(name, b""))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in entries.items():
            if data is not None:
                path = name if name.startswith("/") else "model/" + name
                archive.writestr(zipfile.ZipInfo(path), data)   # without the time of writing
    return file.getvalue()


def manifest_of(kind, shape, classes, loss="cross_entropy"):
    return {"input": {"kind": kind, "shape": shape}, "output": {"index": 0, "classes": classes},
            "loss": loss}


def linear(classes=10, shape=(3, 32, 32), seed=0, changes=None, edit=None, batch=None, loss=None,
           auxiliary=None):
    """A linear layer on the flattened input. `edit` changes both graphs. `loss` makes the loss from
    a graph with the inputs y and t; `auxiliary` are weights of further outputs."""
    random, inputs = np.random.default_rng(seed), int(np.prod(shape))
    arrays = {"fc.weight": random.normal(0, 0.02, (classes, inputs)).astype("float32"),
              "fc.bias": np.zeros(classes, "float32")}
    graphs = []
    for _ in range(2):
        graph = Graph(dict.fromkeys(arrays, "parameter"), batch)
        graph.add("flatten.using_ints", "flat", self="x", start_dim=1)
        graph.add("linear.default", "out", input="flat", weight="w_fc_weight", bias="w_fc_bias")
        if edit:
            edit(graph)
        graphs.append(graph)
    function = None
    if loss:
        function = Graph({}, given=("y", *(f"y{k}" for k in range(len(graphs[0].outputs))), "t"))
        loss(function)
    manifest = manifest_of("image", list(shape), classes)
    if auxiliary:
        manifest.update(format=2, auxiliary=[{"weight": weight} for weight in auxiliary])
    return pack(*graphs, arrays, manifest, set(arrays), changes, function)


def network(width=4, classes=10, size=32, dropout=0.3, seed=0, changes=None, pool=1, edit=None,
            momentum=0.1):
    """A convolution, BatchNorm with its counter, ReLU in place, pooling to `pool` x `pool` pixels,
    dropout and a linear layer. `edit` changes both graphs after the convolution."""
    random = np.random.default_rng(seed)
    arrays = {"conv.weight": random.normal(0, 0.2, (width, 3, 3, 3)),
              "norm.weight": np.ones(width), "norm.bias": np.zeros(width),
              "fc.weight": random.normal(0, 0.3, (classes, width * pool**2)),
              "fc.bias": np.zeros(classes),
              "norm.running_mean": np.zeros(width), "norm.running_var": np.ones(width)}
    arrays = {name: array.astype("float32") for name, array in arrays.items()}
    arrays["norm.num_batches_tracked"] = np.array(0)
    parameters = list(arrays)[:5]
    graphs = []
    for training in (True, False):
        graph = Graph({name: "parameter" if name in parameters else "buffer" for name in arrays})
        graph.add("conv2d.default", "conv", input="x", weight="w_conv_weight", bias=None,
                  stride=[2, 2], padding=[1, 1])
        if edit:
            edit(graph)
        if training:
            graph.add("add_.Tensor", "count", self="w_norm_num_batches_tracked", other=1)
        graph.add("batch_norm.default", "norm", input="conv", weight="w_norm_weight",
                  bias="w_norm_bias", running_mean="w_norm_running_mean",
                  running_var="w_norm_running_var", training=training, momentum=momentum, eps=1e-5,
                  cudnn_enabled=False)
        graph.add("relu_.default", "relu", self="norm")
        graph.add("adaptive_avg_pool2d.default", "pool", self="relu", output_size=[pool, pool])
        graph.add("sym_size.int", "batch", self="x", dim=0)
        graph.add("_operator.mul", "double", a={"as_sym_int": {"as_name": "batch"}}, b=2)
        graph.add("_operator.floordiv", "half", a={"as_sym_int": {"as_name": "double"}}, b=2)
        graph.add("view.default", "flat", self="pool", size=["half", width * pool**2])
        graph.add("dropout.default", "drop", input="flat", p=dropout, train=training)
        graph.add("linear.default", "out", input="drop", weight="w_fc_weight", bias="w_fc_bias")
        graphs.append(graph)
    return pack(*graphs, arrays, manifest_of("image", [3, size, size], classes), set(parameters),
                changes)
