// reference_dump SPEC.json FOLDER: trains one replica on random batches and writes all inputs and
// results, which tests/pytorch compares with PyTorch. SPEC is a list of runs:
//     {"model": ..., "optimizer": ..., "input_shape": [3, 32, 32], "classes": 10, "batch": 8,
//      "precision": "float32", "steps": 2, "seed": 1}
// Runs on texts add "tokens": true, and runs in mixed precision "compute": "bfloat16". Run k writes
// FOLDER/k.bin, the tensors' elements one after another in logical order, and FOLDER/k.json: a list
// of {"name", "type", "shape", "offset" in bytes}, and the tensors' kinds.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include "algorithms/optimizers/optimizer.hpp"
#include "arena/device/queue.hpp"
#include "model_fixture.hpp"
#include "train/models/layers/autocast.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

using base::Json;

class Dump {
public:
    explicit Dump(std::string path)
        : path_(std::move(path)), data_(path_ + ".bin", std::ios::binary) {}

    void add(const std::string& name, const torch::Tensor& tensor) {
        const torch::Tensor plain = tensor.detach().contiguous();
        const char* type = plain.scalar_type() == torch::kInt64     ? "int64"
                           : plain.scalar_type() == torch::kFloat64 ? "float64"
                                                                    : "float32";
        entries_.push_back({{"name", name},
                            {"type", type},
                            {"shape", plain.sizes().vec()},
                            {"offset", static_cast<int64_t>(data_.tellp())}});
        data_.write(static_cast<const char*>(plain.data_ptr()),
                    static_cast<std::streamsize>(plain.nbytes()));
    }

    void add(const std::string& prefix, const arena::Layout& layout, arena::Rows rows) {
        const auto tensors = views(layout, rows, 0);
        for (size_t k = 0; k < tensors.size(); ++k) {
            add(prefix + "/" + layout.tensors()[k].name, tensors[k]);
        }
    }

    void finish(const arena::Layout& layout) {
        Json kinds = Json::object();
        for (const auto& tensor : layout.tensors()) kinds[tensor.name] = to_string(tensor.kind);
        std::ofstream(path_ + ".json") << Json{{"tensors", entries_}, {"kinds", kinds}};
    }

private:
    std::string path_;
    std::ofstream data_;
    Json entries_ = Json::array();
};

void run(const Json& spec, const std::string& path) {
    const ModelContext context{spec.at("input_shape").get<std::vector<int64_t>>(),
                               spec.at("classes"), spec.value("tokens", false)};
    const auto type =
        spec.at("precision") == "float64" ? arena::DType::float64 : arena::DType::float32;
    const uint64_t seed = spec.at("seed");
    auto model = make_model(spec.at("model").dump(), context);
    if (spec.value("compute", "") == "bfloat16") model = autocast(std::move(model));
    Replicas replica(*model, {1, 1}, 0, type, Init::same, seed);
    const auto& layout = replica.layout();

    const Json chosen = algorithms::resolve_optimizer(spec.at("optimizer"), "/optimizer");
    const auto optimizer =
        base::find_entry(algorithms::optimizer_table(), chosen.at("type"))->make(chosen, layout);
    optimizer->declare(replica.state());

    Weights weights{views(layout, replica.x(), 0),
                    views(replica.buffer_layout(), replica.buffers(), 0)};
    const auto gradients = views(layout, replica.g(), 0);
    for (size_t k = 0; k < gradients.size(); ++k) {
        weights.parameters[k].requires_grad_(true).mutable_grad() = gradients[k];
    }

    Dump dump(path);
    dump.add("initial", layout, replica.x());
    for (int64_t t = 0; t < spec.at("steps"); ++t) {
        const std::string step = std::to_string(t);
        const RandomBatch data(spec.at("batch"), context, model->order(), scalar_type(type),
                               seed + 100 + static_cast<uint64_t>(t));
        dump.add(step + "/inputs", data.inputs);
        dump.add(step + "/targets", context.classes > 0 ? data.labels : data.targets);

        arena::fill_zero(replica.g(), layout.all());
        const torch::Tensor output = model->forward(weights, input_tensor(data.batch), true);
        const torch::Tensor loss = model->loss(output, data.batch);
        loss.backward();
        optimizer->step(replica.x(), replica.x(), replica.x(), replica.g(), layout.all(),
                        {chosen.at("lr"), t + 1}, nullptr, arena::host_queue());

        dump.add(step + "/loss", loss);
        dump.add(step + "/gradient", layout, replica.g());
        dump.add(step + "/parameter", layout, replica.x());
        dump.add(step + "/buffer", replica.buffer_layout(), replica.buffers());
        const torch::NoGradGuard no_grad;
        dump.add(step + "/evaluated", model->forward(weights, input_tensor(data.batch), false));
    }
    dump.finish(layout);
}

}  // namespace
}  // namespace dbench::train

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: reference_dump SPEC.json FOLDER\n", stderr);
        return 2;
    }
    try {
        torch::set_num_threads(1);
        int number = 0;
        for (const auto& spec : dbench::base::read_json(argv[1])) {
            dbench::train::run(spec, std::string(argv[2]) + "/" + std::to_string(number++));
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
