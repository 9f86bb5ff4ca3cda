#include "conform/compressor.hpp"

#include <nlohmann/json.hpp>

#include "conform/production_run.hpp"

namespace dbench::conform {
namespace {

constexpr arena::DType kType = arena::DType::float64;

}  // namespace

Compressor::Compressor(const base::Json& message, int64_t parameters, uint64_t seed)
    : layout_(layout_of(parameters)),
      coder_(algorithms::make_codec(message)->coder(layout_, kType)),
      seed_(seed) {}

Matrix Compressor::compress(const Matrix& v, int64_t t, int part) const {
    const arena::Buffer from(kType, 0, v.rows(), layout_.columns());
    const arena::Buffer to(kType, 0, v.rows(), layout_.columns());
    const arena::Buffer messages(kType, 0, v.rows(), coder_->bytes() / arena::size_of(kType) + 1);
    /// Calls work(column of a matrix, element of a row) for every parameter.
    const auto for_all = [&](const auto& work) {
        Eigen::Index column = 0;
        for (const arena::Tensor& tensor : layout_.tensors()) {
            for (int64_t c = 0; c < tensor.numel; ++c) work(column++, tensor.offset + c);
        }
    };
    for (Eigen::Index i = 0; i < v.rows(); ++i) {
        for_all(
            [&](Eigen::Index column, int64_t c) { from.rows().row<double>(i)[c] = v(i, column); });
    }
    const algorithms::MessageSet set{seed_, t, part};
    coder_->encode(from.rows(), set, messages.rows(), arena::host_queue());
    std::vector<std::vector<algorithms::Incoming>> own;
    for (Eigen::Index i = 0; i < v.rows(); ++i) {
        own.push_back({{i, 1, messages.rows().at(i, 0)}});
    }
    coder_->add(to.rows(), own, set, arena::host_queue());
    Matrix out(v.rows(), v.cols());
    for (Eigen::Index i = 0; i < v.rows(); ++i) {
        for_all(
            [&](Eigen::Index column, int64_t c) { out(i, column) = to.rows().row<double>(i)[c]; });
    }
    return out;
}

double Compressor::share() const {
    return static_cast<double>(coder_->bytes()) /
           static_cast<double>(layout_.numel() * arena::size_of(kType));
}

bool Compressor::keyed(const base::Json& message) {
    const std::string type = message.is_string() ? message : message.at("type");
    return base::find_entry(algorithms::codec_table(), type)->keyed;
}

}  // namespace dbench::conform
