#include "train/replicas.hpp"

#include "arena/device/host_rows.hpp"
#include "arena/kernels.hpp"
#include "base/random.hpp"
#include "train/models/model.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

void initialise(const Model& model, const arena::Layout& layout, const arena::Rows& row,
                uint64_t seed, uint64_t draw) {
    // Seeds LibTorch's generator with a key that does not depend on the ranks.
    torch::manual_seed(base::Random(seed, base::Purpose::init, {draw}).bits64() >> 1);
    auto tensors = views(layout, row, 0);
    const auto& parameters = model.declaration().parameters;
    for (size_t k = 0; k < parameters.size(); ++k) parameters[k].initialise(tensors[k]);
}

}  // namespace

std::vector<torch::Tensor> views(const arena::Layout& layout, const arena::Rows& rows,
                                 int64_t local, torch::Device place) {
    std::vector<torch::Tensor> out;
    const auto options = torch::TensorOptions().dtype(scalar_type(rows.type)).device(place);
    for (const auto& tensor : layout.tensors()) {
        out.push_back(torch::from_blob(rows.at(local, tensor.offset), tensor.shape, options));
    }
    return out;
}

arena::Layout buffer_layout_of(const Model& model) {
    arena::Layout layout;
    for (const auto& buffer : model.declaration().buffers) {
        layout.add(buffer.name, buffer.shape, arena::TensorKind::norm);
    }
    return layout;
}

arena::Layout carried_layout_of(const Model& model) {
    arena::Layout layout;
    for (const auto& each : model.declaration().carried) {
        layout.add(each.name, each.shape, arena::TensorKind::weight);
    }
    return layout;
}

Replicas::Replicas(const Model& model, const comm::Placement& placement, int rank,
                   arena::DType type, Init init, uint64_t seed, arena::Memory peer_readable,
                   Device& device)
    : device_(device),
      layout_(layout_of(model.declaration())),
      buffer_layout_(buffer_layout_of(model)),
      carried_layout_(carried_layout_of(model)),
      state_(type, placement.begin(rank), placement.count(rank), layout_.columns(),
             std::move(peer_readable), device.place().memories()) {
    const arena::Rows x = state_.declare_parameters();
    gradient_ = state_.peer_readable_scratch();
    const auto rows_of = [&](const char* name, const arena::Layout& layout) {
        if (layout.columns() > 0) return state_.rows(name, layout.columns());
        return arena::Rows{nullptr, type, arena::Space::host, x.first, x.count, 0};
    };
    buffers_ = rows_of("buffers", buffer_layout_);
    carried_ = rows_of("carried", carried_layout_);
    const torch::NoGradGuard no_grad;
    const auto& buffers = model.declaration().buffers;
    arena::Queue& queue = device.place().compute();
    // The host computes the initial values on every device; nothing is on the queue yet.
    const auto host_row = [&](const arena::Rows& rows, int64_t i) {
        return arena::HostRows(rows.only(i), queue, "", arena::HostRows::State::replaced);
    };
    for (int64_t i = 0; i < x.count; ++i) {
        const auto draw = init == Init::independent ? static_cast<uint64_t>(x.first + i) + 1 : 0;
        if (init == Init::independent || (init == Init::same && i == 0)) {
            arena::HostRows row = host_row(x, i);
            initialise(model, layout_, row.rows(), seed, draw);
            row.write_back("initial values");
        } else if (init == Init::same) {
            const arena::Rows first = x.only(0);
            arena::copy(first, x.only(i), layout_.all(), queue);
        }
        arena::HostRows row = host_row(buffers_, i);
        auto tensors = views(buffer_layout_, row.rows(), 0);
        for (size_t k = 0; k < buffers.size(); ++k) {
            const torch::Tensor& values = buffers[k].values;
            values.defined() ? tensors[k].copy_(values) : tensors[k].fill_(buffers[k].initial);
        }
        row.write_back("initial values");
    }
}

}  // namespace dbench::train
