// A matrix of rank r near each tensor, taken as one with a row for each index of its first
// dimension: P Q' with P = orth(M Z), Q = M' P, Z keyed normal numbers (one step of the power
// iteration of PowerSGD: Vogels et al. 2019, arXiv 1905.13727). r (rows + columns) values; tensors
// of one dimension, and those that would not become smaller, travel as they are.

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/codecs/on_host.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

/// Columns of a row-major [rows, rank] matrix made orthonormal (modified Gram-Schmidt); one that
/// is, to rounding, a combination of those before it becomes 0.
void orthonormalise(std::vector<double>& p, int64_t rows, int64_t rank) {
    const auto dot = [&](int64_t a, int64_t b) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) sum += p[i * rank + a] * p[i * rank + b];
        return sum;
    };
    for (int64_t k = 0; k < rank; ++k) {
        const double before = dot(k, k);
        for (int64_t j = 0; j < k; ++j) {
            const double share = dot(j, k);
            for (int64_t i = 0; i < rows; ++i) p[i * rank + k] -= share * p[i * rank + j];
        }
        const double left = dot(k, k);
        const double scale = left > 1e-24 * before ? 1 / std::sqrt(left) : 0;
        for (int64_t i = 0; i < rows; ++i) p[i * rank + k] *= scale;
    }
}

struct LowRank {
    int64_t rank;

    static int64_t rows(const arena::Tensor& tensor) { return tensor.shape[0]; }
    static int64_t columns(const arena::Tensor& tensor) {
        return tensor.numel / std::max<int64_t>(rows(tensor), 1);
    }
    bool whole(const arena::Tensor& tensor) const {
        return tensor.shape.size() < 2 || rank * (rows(tensor) + columns(tensor)) >= tensor.numel;
    }

    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        const int64_t values =
            whole(tensor) ? tensor.numel : rank * (rows(tensor) + columns(tensor));
        return values * static_cast<int64_t>(sizeof(T));
    }
    template <class T>
    void encode(Coding coding, const T* m, char* to) const {
        const int64_t a = rows(coding.tensor), b = columns(coding.tensor);
        if (whole(coding.tensor)) {
            std::memcpy(to, m, static_cast<size_t>(coding.numel()) * sizeof(T));
            return;
        }
        std::vector<double> z(static_cast<size_t>(b * rank)), p(static_cast<size_t>(a * rank)),
            q(z.size());
        for (double& value : z) value = coding.random.normal();
        for (int64_t i = 0; i < a; ++i) {
            for (int64_t j = 0; j < b; ++j) {
                const auto value = static_cast<double>(m[i * b + j]);
                for (int64_t k = 0; k < rank; ++k) p[i * rank + k] += value * z[j * rank + k];
            }
        }
        orthonormalise(p, a, rank);
        for (int64_t i = 0; i < a; ++i) {
            for (int64_t j = 0; j < b; ++j) {
                const auto value = static_cast<double>(m[i * b + j]);
                for (int64_t k = 0; k < rank; ++k) q[j * rank + k] += value * p[i * rank + k];
            }
        }
        for (size_t c = 0; c < p.size(); ++c) write_at(to, int64_t(c), static_cast<T>(p[c]));
        char* const after = to + p.size() * sizeof(T);
        for (size_t c = 0; c < q.size(); ++c) write_at(after, int64_t(c), static_cast<T>(q[c]));
    }
    template <class T>
    void add(const Coding& coding, const char* message, T factor, T* out) const {
        const int64_t a = rows(coding.tensor), b = columns(coding.tensor);
        if (whole(coding.tensor)) {
            for (int64_t c = 0; c < coding.numel(); ++c) out[c] += factor * read_at<T>(message, c);
            return;
        }
        const char* const q = message + a * rank * static_cast<int64_t>(sizeof(T));
        for (int64_t i = 0; i < a; ++i) {
            for (int64_t k = 0; k < rank; ++k) {
                const T left = factor * read_at<T>(message, i * rank + k);
                for (int64_t j = 0; j < b; ++j) {
                    out[i * b + j] += left * read_at<T>(q, j * rank + k);
                }
            }
        }
    }
};

}  // namespace

CodecEntry low_rank_codec() {
    return {{"low_rank",
             "a matrix of low rank near each tensor",
             {base::Parameter::integer("rank", "1", "rank of the matrix").at_least(1)}},
            [](const base::Json& spec) { return codec_on_host(LowRank{spec.at("rank")}); },
            true};
}

}  // namespace dbench::algorithms
