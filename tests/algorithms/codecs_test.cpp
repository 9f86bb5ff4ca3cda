// Tests of the codecs: their definitions, the size of messages, and the keys of random numbers.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "algorithms/codecs/codec.hpp"
#include "arena/messages/element_codec.hpp"
#include "catch.hpp"

namespace {

using namespace dbench;
using algorithms::MessageKey;
using base::Json;

constexpr arena::DType kType = arena::DType::float32;

arena::Layout layout_of(std::vector<int64_t> shape) {
    arena::Layout layout;
    layout.add("w", std::move(shape), arena::TensorKind::weight);
    return layout;
}
std::vector<float> numbers(int64_t count, uint64_t seed = 1) {
    base::Random random(seed, base::Purpose::regression);
    std::vector<float> out(static_cast<size_t>(count));
    for (float& value : out) value = static_cast<float>(random.normal());
    return out;
}

/// Q(v) of a layout's only tensor, and the bytes of its message.
struct CodedTensor {
    std::vector<float> q;
    int64_t bytes;
};
CodedTensor coded(const Json& message, const arena::Layout& layout, const std::vector<float>& v,
                  const MessageKey& key = {1, 2, 3}) {
    const auto coder = algorithms::make_codec(message)->coder(layout, kType);
    const arena::Buffer from(kType, key.replica, 1, layout.columns());
    const arena::Buffer to(kType, key.replica, 1, layout.columns());
    std::copy(v.begin(), v.end(), from.rows().row<float>(0));
    constexpr char kGuard = 0x5a;
    const int64_t bytes = coder->bytes(), stride = bytes / 4 + 3;
    std::vector<float> wire(static_cast<size_t>(stride));
    const auto guards = std::as_writable_bytes(std::span(wire)).subspan(bytes);
    std::fill(guards.begin(), guards.end(), std::byte(kGuard));
    const arena::Rows messages{wire.data(), kType, arena::Space::host, key.replica, 1, stride};
    const algorithms::MessageSet set{key.seed, key.iteration, key.part};
    coder->encode(from.rows(), set, messages, arena::host_queue());
    for (const std::byte guard : guards) REQUIRE(guard == std::byte(kGuard));
    std::vector<std::vector<algorithms::Incoming>> own(1);
    own[0].push_back({key.replica, 1, messages.at(0, 0)});
    coder->add(to.rows(), own, set, arena::host_queue());
    const float* const q = to.rows().row<float>(0);
    return {{q, q + v.size()}, bytes};
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

TEST_CASE("Zeros are decoded as zeros, and no message exceeds its bytes") {
    for (const char* text : kAll) {
        INFO(text);
        for (const auto& shape : {std::vector<int64_t>{1}, {17}, {24, 31}, {4, 3, 5, 5}}) {
            const arena::Layout tensor = layout_of(shape);
            const std::vector<float> zeros(static_cast<size_t>(tensor.numel()));
            for (const float q : coded(Json::parse(text), tensor, zeros).q) CHECK(q == 0);
            coded(Json::parse(text), tensor, numbers(tensor.numel()));  // Checks the guard bytes.
        }
    }
}

TEST_CASE("Messages depend on their key and on nothing else") {
    const arena::Layout tensor = layout_of({24, 31});
    const auto v = numbers(tensor.numel());
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

TEST_CASE("Messages have the documented number of bytes") {
    const arena::Layout tensor = layout_of({30, 11});  // 330
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
    const auto top_k = algorithms::make_codec(Json::parse(R"({"type": "top_k", "ratio": 0.1})"));
    CHECK(top_k->coder(tensor, arena::DType::float64)->bytes() == 12 * 33);
}

TEST_CASE("top_k keeps the largest elements, ties at the lower index, and NaN before all") {
    const arena::Layout tensor = layout_of({8});
    const auto q = [&](std::vector<float> v) {
        return coded({{"type", "top_k"}, {"ratio", 0.375}}, tensor, v).q;
    };
    CHECK(q({1, -2, 2, 0, -2, 2, 3, 1}) == std::vector<float>{0, -2, 2, 0, 0, 0, 3, 0});
    CHECK(q({0, 0, 0, 0, 0, 0, 0, 5}) == std::vector<float>{0, 0, 0, 0, 0, 0, 0, 5});
    CHECK(q({1, 1, 1, 1, 1, 1, 1, 1}) == std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0});
    CHECK(std::isnan(q({1, 9, NAN, 8, 7, 6, 5, 4})[2]));
}

TEST_CASE("sign sends the mean magnitude with signs, and the sign of 0 is plus") {
    const auto q = coded("sign", layout_of({4}), {1, -2, 0, 5}).q;
    CHECK(q == std::vector<float>{2, -2, 2, 2});
}

TEST_CASE("low_rank reproduces a matrix of that rank") {
    const arena::Layout tensor = layout_of({20, 15});
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

TEST_CASE("Contractions have an error below the input, and unbiased codecs have the mean v") {
    const arena::Layout tensor = layout_of({24, 31});
    const auto v = numbers(tensor.numel());
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
        double off = 0, expected = 0;  // Squared distance of the mean from v, and its expectation.
        for (size_t c = 0; c < v.size(); ++c) {
            off += std::pow(mean[c] - double(v[c]), 2);
            expected += spread[c] / kDraws;
        }
        CHECK(off < 1.3 * expected);
    }
}

TEST_CASE("Both stochastic 16-bit codecs round to one of the two neighbouring values") {
    const arena::Layout tensor = layout_of({1});
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

namespace {

constexpr uint64_t kSeed = 9;
constexpr int64_t kIteration = 12;
constexpr int kPart = 1;

/// Tensors that end inside a group of codes, and tensors of one segment and more.
arena::Layout ragged() {
    arena::Layout layout;
    for (const int64_t numel : {1, 7, 8, 17, 300, 4096, 4099, 9001}) {
        layout.add("t", {numel}, arena::TensorKind::weight);
    }
    return layout;
}

/// Returns a normal number, except for some zeros.
double mostly_normal(base::Random& random, int64_t c) { return c % 13 == 5 ? 0 : random.normal(); }

/// Checks out = start + sum of factor Q(v), for three rows that receive their own message and that
/// of the next row, against `expected`, which computes Q(v) of a tensor by its definition.
template <class T, class Expected>
void check_values(const Json& message, double tolerance, const Expected& expected) {
    INFO(message.dump() << ", " << sizeof(T) << " bytes");
    constexpr int64_t kRows = 3, kFirst = 5;
    constexpr T kStart = 0.25;
    const arena::DType type = sizeof(T) == 4 ? arena::DType::float32 : arena::DType::float64;
    const arena::Layout layout = ragged();
    const auto coder = algorithms::make_codec(message)->coder(layout, type);
    const arena::Buffer from(type, kFirst, kRows, layout.columns());
    const arena::Buffer to(type, kFirst, kRows, layout.columns());
    const int64_t stride = (coder->bytes() + int64_t{sizeof(T)} - 1) / int64_t{sizeof(T)};
    const arena::Buffer messages(type, kFirst, kRows, stride);
    const arena::Rows v = from.rows(), out = to.rows(), sent = messages.rows();
    for (int64_t i = 0; i < kRows; ++i) {
        base::Random random(3, base::Purpose::regression, {static_cast<uint64_t>(i)});
        for (const arena::Tensor& tensor : layout.tensors()) {
            for (int64_t c = 0; c < tensor.numel; ++c) {
                v.row<T>(i)[tensor.offset + c] = static_cast<T>(mostly_normal(random, c));
                out.row<T>(i)[tensor.offset + c] = kStart;
            }
        }
    }
    const algorithms::MessageSet set{kSeed, kIteration, kPart};
    coder->encode(v, set, sent, arena::host_queue());
    std::vector<std::vector<algorithms::Incoming>> heard(kRows);
    for (int64_t i = 0; i < kRows; ++i) {
        const int64_t next = (i + 1) % kRows;
        heard[static_cast<size_t>(i)] = {{kFirst + i, -0.5, sent.at(i, 0)},
                                         {kFirst + next, 0.75, sent.at(next, 0)}};
    }
    coder->add(out, heard, set, arena::host_queue());
    for (size_t t = 0; t < layout.tensors().size(); ++t) {
        const arena::Tensor& tensor = layout.tensors()[t];
        INFO(tensor.numel << " elements");
        std::vector<std::vector<double>> q;
        for (int64_t i = 0; i < kRows; ++i) {
            const T* const begin = v.row<T>(i) + tensor.offset;
            const std::vector<T> values(begin, begin + tensor.numel);
            q.push_back(expected(values, set.of(kFirst + i).random(static_cast<int>(t))));
        }
        double worst = 0;
        for (int64_t i = 0; i < kRows; ++i) {
            for (int64_t c = 0; c < tensor.numel; ++c) {
                const auto k = static_cast<size_t>(c);
                const double right = kStart - 0.5 * q[i][k] + 0.75 * q[(i + 1) % kRows][k];
                const double found = static_cast<double>(out.row<T>(i)[tensor.offset + c]);
                worst = std::max(worst, std::abs(found - right));
            }
        }
        CHECK(worst < tolerance);
        // Nothing is written outside the tensor.
        const int64_t after = tensor.offset + tensor.numel;
        if (after % arena::kColumnAlignment != 0) CHECK(out.row<T>(0)[after] == 0);
    }
}
template <class Expected>
void check_values(const Json& message, const Expected& expected) {
    check_values<float>(message, 2e-5, expected);
    check_values<double>(message, 5e-13, expected);
}

template <class T>
double norm_of_codecs(const std::vector<T>& v) {
    double sum = 0;
    for (const T x : v) sum += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(sum);
}

}  // namespace

TEST_CASE("qsgd matches its definition in every element and for any number of bits") {
    for (int bits = 1; bits <= 16; ++bits) {
        const double s = std::pow(2, bits) - 1;
        for (const bool unbiased : {false, true}) {
            const Json message{{"type", "qsgd"}, {"bits", bits}, {"unbiased", unbiased}};
            check_values(message, [&](const auto& v, base::Random random) {
                const double norm = norm_of_codecs(v), m = static_cast<double>(v.size());
                const double shrink =
                    unbiased ? 1 : 1 / (1 + std::min(m / (s * s), std::sqrt(m) / s));
                std::vector<double> q;
                for (const double x : v) {
                    const double xi = std::floor(std::abs(x) / norm * s + random.uniform());
                    q.push_back((x < 0 ? -1 : 1) * norm * std::min(xi, s) / s * shrink);
                }
                if (norm == 0) q.assign(v.size(), 0);
                return q;
            });
        }
    }
}

TEST_CASE("sign matches its definition for tensors of any size") {
    check_values("sign", [](const auto& v, base::Random) {
        double sum = 0;
        for (const auto x : v) sum += std::abs(static_cast<double>(x));
        std::vector<double> q;
        for (const auto x : v) q.push_back((x < 0 ? -1 : 1) * sum / static_cast<double>(v.size()));
        return q;
    });
}

TEST_CASE("float32 sends values in the run's precision") {
    check_values("float32", [](const auto& v, base::Random) {
        return std::vector<double>(v.begin(), v.end());
    });
}

TEST_CASE("Stochastic 16-bit codecs round in the direction that the element's number selects") {
    for (const char* type : {"bfloat16", "float16"}) {
        const auto form =
            type[0] == 'b' ? arena::ElementCodec::bfloat16 : arena::ElementCodec::float16;
        const auto value = [&](uint16_t word) {
            double out;
            arena::decode(form, arena::DType::float64, &word, &out, 1);
            return out;
        };
        check_values(
            {{"type", type}, {"stochastic", true}}, [&](const auto& v, base::Random random) {
                std::vector<double> q;
                for (const double x : v) {
                    const double u = random.uniform();
                    uint16_t word;
                    arena::encode(form, arena::DType::float64, &x, &word, 1);
                    const double near = value(word);
                    const bool beyond = std::abs(near) > std::abs(x);
                    const auto other = static_cast<uint16_t>(beyond ? word - 1 : word + 1);
                    const double share = near == x ? 0 : (x - near) / (value(other) - near);
                    q.push_back(u < share ? value(other) : near);
                }
                return q;
            });
    }
}

TEST_CASE("top_k selects the elements that a sort of all elements finds") {
    for (const double ratio : {0.003, 0.1, 0.6, 1.0}) {
        check_values({{"type", "top_k"}, {"ratio", ratio}}, [&](const auto& v, base::Random) {
            std::vector<size_t> order(v.size());
            std::iota(order.begin(), order.end(), size_t{0});
            std::stable_sort(order.begin(), order.end(),
                             [&](size_t a, size_t b) { return std::abs(v[a]) > std::abs(v[b]); });
            order.resize(std::max<size_t>(
                1, static_cast<size_t>(std::floor(ratio * static_cast<double>(v.size())))));
            std::vector<double> q(v.size());
            for (const size_t c : order) q[c] = static_cast<double>(v[c]);
            return q;
        });
    }
}

TEST_CASE("random_k keeps the beginning of a shuffle") {
    for (const double ratio : {0.003, 0.1, 0.6, 1.0}) {
        check_values(
            {{"type", "random_k"}, {"ratio", ratio}}, [&](const auto& v, base::Random random) {
                std::vector<size_t> order(v.size());
                std::iota(order.begin(), order.end(), size_t{0});
                const auto k = std::max<size_t>(
                    1, static_cast<size_t>(std::floor(ratio * static_cast<double>(v.size()))));
                std::vector<double> q(v.size());
                for (size_t c = 0; c < k; ++c) {
                    std::swap(order[c], order[c + random.below(v.size() - c)]);
                    q[order[c]] = static_cast<double>(v[order[c]]);
                }
                return q;
            });
    }
}
