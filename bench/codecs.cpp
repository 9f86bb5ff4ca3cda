// Measures the cost of encoding a row as a compressed message and of adding such a message to a
// row, relative to a plain copy of the row. One thread; the codecs take turns; prints medians.
//   bench_codecs [rounds] [columns]      defaults: 9 4194304

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "base/clock.hpp"

namespace {

using namespace dbench;
using base::Json;

constexpr arena::DType kType = arena::DType::float32;
constexpr const char* kCodecs[] = {R"("float32")",
                                   R"("bfloat16")",
                                   R"({"type": "bfloat16", "stochastic": true})",
                                   R"("float16")",
                                   R"({"type": "float16", "stochastic": true})",
                                   R"("sign")",
                                   R"({"type": "qsgd", "bits": 2})",
                                   R"({"type": "qsgd", "bits": 4})",
                                   R"({"type": "qsgd", "bits": 8})",
                                   R"({"type": "top_k", "ratio": 0.01})",
                                   R"({"type": "top_k", "ratio": 0.1})",
                                   R"({"type": "random_k", "ratio": 0.01})",
                                   R"({"type": "random_k", "ratio": 0.1})",
                                   R"({"type": "low_rank", "rank": 1})",
                                   R"({"type": "low_rank", "rank": 4})"};

double seconds_of(const std::function<void()>& work) {
    const double start = base::now();
    work();
    return base::now() - start;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

struct Subject {
    std::string name;
    std::unique_ptr<algorithms::Coder> coder;
    arena::Buffer message;
    std::vector<double> encode, encode_ratio, add, add_ratio;
};

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
    const int64_t columns = argc > 2 ? std::max(2048LL, std::atoll(argv[2])) : 4194304;
    arena::Layout layout;
    layout.add("weight", {2048, columns / 2048}, arena::TensorKind::weight);
    const arena::Buffer row(kType, 0, 1, layout.columns()), out(kType, 0, 1, layout.columns());
    const arena::Rows v = row.rows(), x = out.rows();
    base::Random random(1, base::Purpose::regression);
    std::generate_n(v.row<float>(0), layout.numel(),
                    [&] { return static_cast<float>(random.normal()); });
    const auto copy = [&] { std::memcpy(x.data, v.data, static_cast<size_t>(row.bytes())); };

    std::vector<Subject> subjects;
    for (const char* text : kCodecs) {
        Subject& one = subjects.emplace_back();
        one.name = text;
        one.coder = algorithms::make_codec(Json::parse(text))->coder(layout, kType);
        one.message = arena::Buffer(kType, 0, 1, one.coder->bytes() / 4 + 1);
    }
    std::vector<double> copies;
    for (int round = -1; round < rounds; ++round) {  // the first one is not counted
        for (Subject& one : subjects) {
            const algorithms::MessageSet set{1, round + 1};
            const arena::Rows message = one.message.rows();
            const std::vector<std::vector<algorithms::Incoming>> received{
                {{0, 0.5, message.at(0, 0)}}};
            const double before = seconds_of(copy);
            const double encode =
                seconds_of([&] { one.coder->encode(v, set, message, arena::host_queue()); });
            const double add =
                seconds_of([&] { one.coder->add(x, received, set, arena::host_queue()); });
            const double copy_seconds = (before + seconds_of(copy)) / 2;
            if (round < 0) continue;
            copies.push_back(copy_seconds);
            one.encode.push_back(encode);
            one.encode_ratio.push_back(encode / copy_seconds);
            one.add.push_back(add);
            one.add_ratio.push_back(add / copy_seconds);
        }
    }
    std::printf(
        "a row of %lld parameters, float32, one thread, medians of %d rounds; a copy: %.2f ms\n",
        static_cast<long long>(layout.numel()), rounds, 1e3 * median(copies));
    std::printf("%-44s %10s %9s %8s %9s %8s\n", "codec", "kB", "encode ms", "of copy", "add ms",
                "of copy");
    for (const Subject& one : subjects) {
        std::printf("%-44s %10.1f %9.2f %8.2f %9.2f %8.2f\n", one.name.c_str(),
                    1e-3 * static_cast<double>(one.coder->bytes()), 1e3 * median(one.encode),
                    median(one.encode_ratio), 1e3 * median(one.add), median(one.add_ratio));
    }
}
