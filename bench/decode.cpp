// Measures how many photographs one core prepares for training per second: decoding, cropping,
// resizing, mirroring and normalising.
//   bench_decode FOLDER SIZE SECONDS      FOLDER: photographs whose names begin with their classes

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "data/dataset.hpp"
#include "data/loader.hpp"

using namespace dbench;

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(const char* folder, int64_t size, double seconds) {
    const base::Json given = {{"type", "imagenet"}, {"train", folder}, {"test", folder},
                              {"class_by", "name"}, {"size", size},    {"augment", true}};
    const auto set = data::load_data(data::resolve_data(given, "/data"), {1, 1}).train;
    std::vector<float> out(static_cast<size_t>(data::numel(set->shape())));
    std::vector<double> rates;
    const double start = processor_seconds();
    for (int64_t epoch = 0; processor_seconds() - start < seconds || rates.size() < 3; ++epoch) {
        const double began = processor_seconds();
        for (int64_t k = 0; k < set->size(); ++k) {
            set->input(k, arena::DType::float32, data::Order::contiguous,
                       data::augment_key(1, epoch, k), out.data());
        }
        rates.push_back(static_cast<double>(set->size()) / (processor_seconds() - began));
    }
    std::sort(rates.begin(), rates.end());
    std::printf("%.1f\n", rates[rates.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: bench_decode FOLDER SIZE SECONDS\n", stderr);
        return base::kExitUser;
    }
    try {
        measure(argv[1], std::atoll(argv[2]), std::atof(argv[3]));
    } catch (const base::UserError& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return base::kExitUser;
    }
    return 0;
}
