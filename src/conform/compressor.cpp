#include "conform/compressor.hpp"

#include <nlohmann/json.hpp>

#include "conform/trainee.hpp"

namespace dbench::conform {
namespace {

constexpr arena::DType kType = arena::DType::float64;

}  // namespace

Compressor::Compressor(const base::Json& message, int64_t parameters, uint64_t seed)
    : codec_(algorithms::make_codec(message)), layout_(layout_of(parameters)), seed_(seed) {}

Matrix Compressor::compress(const Matrix& v, int64_t t, int part) const {
    Matrix out = Matrix::Zero(v.rows(), v.cols());
    for (Eigen::Index i = 0; i < v.rows(); ++i) {
        const algorithms::MessageKey key{seed_, i, t, part};
        Eigen::Index begin = 0;
        for (size_t k = 0; k < layout_.tensors().size(); ++k) {
            const arena::Tensor& tensor = layout_.tensors()[k];
            const Eigen::VectorXd from = v.row(i).segment(begin, tensor.numel);
            Eigen::VectorXd to = Eigen::VectorXd::Zero(tensor.numel);
            std::vector<char> bytes(static_cast<size_t>(codec_->bytes(tensor, kType)));
            const auto random = [&] { return key.random(static_cast<int>(k)); };
            codec_->encode({tensor, random()}, kType, from.data(), bytes.data());
            codec_->add({tensor, random()}, kType, bytes.data(), 1, to.data());
            out.row(i).segment(begin, tensor.numel) = to;
            begin += tensor.numel;
        }
    }
    return out;
}

double Compressor::share() const {
    int64_t bytes = 0;
    for (const arena::Tensor& tensor : layout_.tensors()) bytes += codec_->bytes(tensor, kType);
    return static_cast<double>(bytes) /
           static_cast<double>(layout_.numel() * arena::size_of(kType));
}

bool Compressor::keyed(const base::Json& message) {
    const std::string type = message.is_string() ? message : message.at("type");
    return base::find_entry(algorithms::codec_table(), type)->keyed;
}

}  // namespace dbench::conform
