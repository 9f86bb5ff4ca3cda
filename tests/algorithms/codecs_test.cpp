#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/codecs/codec.hpp"
#include "catch.hpp"

namespace {

using namespace dbench;
using algorithms::MessageKey;
using base::Json;

constexpr arena::DType kType = arena::DType::float32;

arena::Tensor tensor_of(std::vector<int64_t> shape) {
    int64_t numel = 1;
    for (const int64_t size : shape) numel *= size;
    return {"w", std::move(shape), arena::TensorKind::weight, numel, 0};
}

std::vector<float> numbers(int64_t count, uint64_t seed = 1) {
    base::Random random(seed, base::Purpose::regression);
    std::vector<float> out(static_cast<size_t>(count));
    for (float& value : out) value = static_cast<float>(random.normal());
    return out;
}

/// Q(v), and the bytes that it takes.
struct Coded {
    std::vector<float> q;
    int64_t bytes;
};
Coded coded(const Json& message, const arena::Tensor& tensor, const std::vector<float>& v,
            const MessageKey& key = {1, 2, 3}) {
    const auto codec = algorithms::make_codec(message);
    Coded out{std::vector<float>(v.size()), codec->bytes(tensor, kType)};
    constexpr char kGuard = 0x5a;
    std::vector<char> wire(static_cast<size_t>(out.bytes) + 8, kGuard);
    codec->encode({tensor, key.random(0)}, kType, v.data(), wire.data());
    for (int k = 0; k < 8; ++k) REQUIRE(wire[static_cast<size_t>(out.bytes) + k] == kGuard);
    codec->add({tensor, key.random(0)}, kType, wire.data(), 1, out.q.data());
    return out;
}

double squares(const std::vector<float>& v) {
    return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
}
double error(const std::vector<float>& q, const std::vector<float>& v) {
    double sum = 0;
    for (size_t c = 0; c < v.size(); ++c) sum += std::pow(double(q[c]) - double(v[c]), 2);
    return sum;
}

const char* const kAll[] = {R"("float32")",
                            R"("bfloat16")",
                            R"("float16")",
                            R"({"type": "bfloat16", "stochastic": true})",
                            R"({"type": "float16", "stochastic": true})",
                            R"({"type": "top_k", "ratio": 0.2})",
                            R"({"type": "random_k", "ratio": 0.2})",
                            R"({"type": "random_k", "ratio": 0.2, "unbiased": true})",
                            R"("sign")",
                            R"({"type": "qsgd", "bits": 3})",
                            R"({"type": "qsgd", "bits": 1, "unbiased": true})",
                            R"({"type": "low_rank", "rank": 2})"};

}  // namespace

TEST_CASE("Zeros become zeros, and every message keeps to its bytes") {
    for (const char* text : kAll) {
        INFO(text);
        for (const auto& shape : {std::vector<int64_t>{1}, {17}, {24, 31}, {4, 3, 5, 5}}) {
            const arena::Tensor tensor = tensor_of(shape);
            const std::vector<float> zeros(static_cast<size_t>(tensor.numel));
            for (const float q : coded(Json::parse(text), tensor, zeros).q) CHECK(q == 0);
            coded(Json::parse(text), tensor, numbers(tensor.numel));  // guards are looked at
        }
    }
}

TEST_CASE("Messages depend on their key, and on nothing else") {
    const arena::Tensor tensor = tensor_of({24, 31});
    const auto v = numbers(tensor.numel);
    for (const char* text : kAll) {
        INFO(text);
        const Json message = Json::parse(text);
        const auto once = coded(message, tensor, v).q;
        CHECK(once == coded(message, tensor, v).q);
        const std::string type = message.is_string() ? message : message.at("type");
        const bool half = type == "bfloat16" || type == "float16";
        const bool draws = base::find_entry(algorithms::codec_table(), type)->keyed ||
                           (half && message.is_object());
        for (const MessageKey key : {MessageKey{2, 2, 3}, {1, 1, 3}, {1, 2, 4}, {1, 2, 3, 1}}) {
            CHECK((coded(message, tensor, v, key).q != once) == draws);
        }
    }
}

TEST_CASE("Bytes of messages") {
    const arena::Tensor tensor = tensor_of({30, 11});  // 330
    const auto v = numbers(330);
    const auto bytes = [&](const char* text) { return coded(Json::parse(text), tensor, v).bytes; };
    CHECK(bytes(R"("float32")") == 4 * 330);
    CHECK(bytes(R"("bfloat16")") == 2 * 330);
    CHECK(bytes(R"({"type": "top_k", "ratio": 0.1})") == 8 * 33);
    CHECK(bytes(R"({"type": "top_k", "ratio": 0.001})") == 8);
    CHECK(bytes(R"({"type": "random_k", "ratio": 0.1})") == 4 * 33);
    CHECK(bytes(R"("sign")") == 42 + 4);
    CHECK(bytes(R"({"type": "qsgd", "bits": 2})") == 124 + 4);  // 330 * 3 / 8 = 123.75
    CHECK(bytes(R"({"type": "low_rank", "rank": 2})") == 4 * 2 * (30 + 11));
    CHECK(bytes(R"({"type": "low_rank", "rank": 9})") == 4 * 330);  // would not become smaller
    const auto codec = algorithms::make_codec(Json::parse(R"({"type": "top_k", "ratio": 0.1})"));
    CHECK(codec->bytes(tensor, arena::DType::float64) == 12 * 33);
}

TEST_CASE("top_k keeps the largest, ties at the lower index; a NaN goes first") {
    const arena::Tensor tensor = tensor_of({8});
    const auto q = [&](std::vector<float> v) {
        return coded({{"type", "top_k"}, {"ratio", 0.375}}, tensor, v).q;
    };
    CHECK(q({1, -2, 2, 0, -2, 2, 3, 1}) == std::vector<float>{0, -2, 2, 0, 0, 0, 3, 0});
    CHECK(q({0, 0, 0, 0, 0, 0, 0, 5}) == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 5});
    CHECK(q({1, 1, 1, 1, 1, 1, 1, 1}) == std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0});
    CHECK(std::isnan(q({1, 9, NAN, 8, 7, 6, 5, 4})[2]));
}

TEST_CASE("sign is the mean magnitude with signs, that of 0 is plus") {
    const auto q = coded("sign", tensor_of({4}), {1, -2, 0, 5}).q;
    CHECK(q == std::vector<float>{2, -2, 2, 2});
}

TEST_CASE("low_rank gives back a matrix of that rank") {
    const arena::Tensor tensor = tensor_of({20, 15});
    const auto a = numbers(20 * 2, 2), b = numbers(15 * 2, 3);
    std::vector<float> v(300);
    for (int i = 0; i < 20; ++i) {
        for (int j = 0; j < 15; ++j)
            v[i * 15 + j] = a[2 * i] * b[2 * j] + a[2 * i + 1] * b[2 * j + 1];
    }
    CHECK(error(coded({{"type", "low_rank"}, {"rank", 2}}, tensor, v).q, v) < 1e-10 * squares(v));
    CHECK(error(coded({{"type", "low_rank"}, {"rank", 3}}, tensor, v).q, v) < 1e-10 * squares(v));
    const double one = error(coded({{"type", "low_rank"}, {"rank", 1}}, tensor, v).q, v);
    CHECK(one > 1e-3 * squares(v));
    CHECK(one < squares(v));
}

TEST_CASE("Contractions bring no more than they drop; unbiased codecs have the mean v") {
    const arena::Tensor tensor = tensor_of({24, 31});
    const auto v = numbers(tensor.numel);
    constexpr int kDraws = 400;
    for (const char* text : kAll) {
        INFO(text);
        const Json message = Json::parse(text);
        const bool unbiased = message.is_object() && (message.value("unbiased", false) ||
                                                      message.value("stochastic", false));
        double drop = 0;
        std::vector<double> mean(v.size()), spread(v.size());
        for (int k = 0; k < kDraws; ++k) {
            const auto q = coded(message, tensor, v, {1, 2, k}).q;
            drop += error(q, v) / kDraws;
            for (size_t c = 0; c < v.size(); ++c) {
                mean[c] += double(q[c]) / kDraws;
                spread[c] += std::pow(double(q[c]) - double(v[c]), 2) / kDraws;
            }
        }
        if (!unbiased) CHECK(drop < squares(v));
        if (!unbiased) continue;
        double off = 0, expected = 0;  // squared distance of the mean, and what chance makes it
        for (size_t c = 0; c < v.size(); ++c) {
            off += std::pow(mean[c] - double(v[c]), 2);
            expected += spread[c] / kDraws;
        }
        CHECK(off < 1.3 * expected);
    }
}

TEST_CASE("Both 16-bit forms by chance give one of the two neighbours") {
    const arena::Tensor tensor = tensor_of({1});
    for (const char* type : {"bfloat16", "float16"}) {
        for (const float v : {1.001f, -1.001f, 3e-8f, -3e-8f, 60000.f}) {
            const float near = coded(type, tensor, {v}).q[0];
            std::vector<float> seen;
            for (int k = 0; k < 200; ++k) {
                const float q =
                    coded({{"type", type}, {"stochastic", true}}, tensor, {v}, {1, 1, k}).q[0];
                if (std::find(seen.begin(), seen.end(), q) == seen.end()) seen.push_back(q);
            }
            std::sort(seen.begin(), seen.end());
            INFO(type << " " << v);
            REQUIRE((seen.size() == 1 || seen.size() == 2));
            CHECK(std::find(seen.begin(), seen.end(), near) != seen.end());
            if (seen.size() == 2) CHECK((seen[0] < v && v < seen[1]));
            if (seen.size() == 1) CHECK(seen[0] == v);
        }
    }
}
