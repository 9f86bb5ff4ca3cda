// Measures the training throughput of a model on one thread: forward pass, backward pass and SGD
// update on the arena. Prints the best and the median samples per second of several rounds;
// `seconds` is the length of all rounds. It uses processor time, so that other work on the machine
// matters less.
//   bench_throughput [seconds] [model] [spec]
// model: a name in kCases; without it, prints the names of those that are compared with PyTorch. Or
//        the shape of an input, the classes and the batch size of a spec's model, such as
//        3x224x224:1000:2, and tokens:256:50257:1 for texts.
// spec: the JSON text of /model that replaces the case's, for example of an exported model.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/optimizers/optimizer.hpp"
#include "arena/device/queue.hpp"
#include "arena/kernels.hpp"
#include "train/device/allocator.hpp"
#include "train/models/model.hpp"
#include "train/models/names.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"
#include "train/torch.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

/// A model and its batches; CASES in pytorch_throughput.py must describe the same cases.
struct Case {
    const char *name, *model;
    std::vector<int64_t> shape;
    int64_t classes, batch;
    bool tokens = false;
    int steps = 1;       ///< per round
    bool listed = true;  ///< pytorch_throughput.py has the case
};

const Case kCases[] = {
    {"resnet20", R"("resnet20")", {3, 32, 32}, 10, 32, false, 5},
    {"resnet50", R"("resnet50")", {3, 64, 64}, 1000, 16},
    {"densenet", R"("densenet")", {3, 32, 32}, 10, 16},
    {"lstm", R"({"type": "lstm", "hidden": 200, "dropout": 0.2})", {35}, 10000, 8, true},
    {"transformer",
     R"({"type": "transformer", "width": 128, "heads": 4, "layers": 2, "hidden": 512,
         "dropout": 0})",
     {2, 16},
     4000,
     64,
     true},
    {"gpt",
     R"({"type": "gpt", "width": 128, "heads": 4, "layers": 2, "dropout": 0})",
     {64},
     1000,
     8,
     true,
     1,
     false},
};

/// Reads a case such as 3x224x224:1000:2, or tokens:256:50257:1. Its classes are 0 if it is none.
Case case_of(const std::string& words) {
    Case made{"given", "null", {}, 0, 0};
    std::istringstream text(words);
    std::string shape;
    std::getline(text, shape, ':');
    made.tokens = shape == "tokens";
    if (made.tokens) std::getline(text, shape, ':');
    std::istringstream sizes(shape);
    for (std::string each; std::getline(sizes, each, 'x');) {
        made.shape.push_back(std::atoll(each.c_str()));
    }
    char colon = 0;
    if (!(text >> made.classes >> colon >> made.batch) || made.batch < 1) made.classes = 0;
    return made;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
    keep_freed_memory();
    torch::set_num_threads(1);
    const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
    const Case* found = nullptr;
    for (const Case& each : kCases) {
        if (argc > 2 && std::string(argv[2]) == each.name) found = &each;
        if (argc < 3 && each.listed) std::printf("%s\n", each.name);
    }
    if (argc < 3) return 0;
    const Case given = case_of(argv[2]);
    if (found == nullptr && (given.classes < 1 || argc < 4)) {
        std::fprintf(stderr,
                     "bench_throughput: %s is no case: name one that the program lists, or give "
                     "SHAPE:CLASSES:BATCH and a model\n",
                     argv[2]);
        return 2;
    }
    if (found == nullptr) found = &given;

    const ModelContext context{found->shape, found->classes, found->tokens};
    const base::Json model_spec = base::resolve_member(
        base::Json::parse(argc > 3 ? argv[3] : found->model), "/model", "model", model_entries());
    const auto model =
        base::find_entry(model_table(), model_spec.at("type"))->make(model_spec, context);
    Replicas replica(*model, {1, 1}, 0, arena::DType::float32, Init::same, 1);
    const auto& layout = replica.layout();
    const base::Json spec = algorithms::resolve_optimizer("sgd", "/optimizer");
    const auto optimizer =
        base::find_entry(algorithms::optimizer_table(), "sgd")->make(spec, layout);
    optimizer->declare(replica.state());

    Executor executor(*model, replica);
    algorithms::Timers timers{arena::host_queue()};

    data::Batch batch;
    batch.count = found->batch;
    batch.shape = {found->batch};
    batch.shape.insert(batch.shape.end(), found->shape.begin(), found->shape.end());
    batch.order = model->order();
    batch.tokens = found->tokens;
    // Only tokens of text, without special marks, so that sentences have no padding.
    const torch::Tensor inputs = found->tokens ? torch::randint(data::kEndToken + 1, found->classes,
                                                                batch.shape, torch::kInt64)
                                               : torch::randn(batch.shape);
    batch.terms = found->tokens ? batch.count * found->shape.back() : batch.count;
    if (found->shape.size() == 2) {
        batch.row_terms.assign(static_cast<size_t>(batch.count), found->shape.back());
    }
    const torch::Tensor labels = torch::randint(found->classes, {batch.terms}, torch::kInt64);
    batch.inputs = inputs.data_ptr();  // random numbers, so the memory order does not matter
    batch.labels = labels.data_ptr<int64_t>();

    int64_t t = 0;
    const auto step = [&] {
        executor.gradient(t, replica.x(), 0, batch, timers);
        optimizer->step(replica.x(), replica.x(), replica.x(), replica.g(), layout.all(),
                        {0.01, ++t}, nullptr, arena::host_queue());
    };
    for (int warm = 0; warm < 2; ++warm) step();
    std::vector<double> rates;
    const double start = processor_seconds();
    while (processor_seconds() - start < seconds) {
        const double began = processor_seconds();
        for (int i = 0; i < found->steps; ++i) step();
        rates.push_back(static_cast<double>(found->steps * batch.count) /
                        (processor_seconds() - began));
    }
    std::sort(rates.begin(), rates.end());
    std::printf("%.3f %.3f\n", rates.back(), rates[rates.size() / 2]);
    return 0;
}
