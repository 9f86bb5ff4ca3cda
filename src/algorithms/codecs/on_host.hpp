#pragma once
// Codecs that the host computes, a tensor at a time.

#include <memory>
#include <utility>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "arena/host_rows.hpp"

namespace dbench::algorithms {

/// A tensor of a message: its shape, and the stream for it.
struct Coding {
    const arena::Tensor& tensor;
    base::Random random;
    int64_t numel() const { return tensor.numel; }
};

/// A coder from a form that has
///     bytes<T>(tensor)                        of a tensor's message
///     encode<T>(coding, from, to)             that of `from` [numel]
///     add<T>(coding, message, factor, out)    out += factor Q(v), from its message
template <class Form>
class HostCoder final : public Coder {
public:
    HostCoder(Form form, const arena::Layout& layout, arena::DType type)
        : form_(std::move(form)), tensors_(layout.tensors()) {
        for (const arena::Tensor& tensor : tensors_) {
            offsets_.push_back(bytes_);
            bytes_ += arena::with_type(
                type, [&]<class T>() -> int64_t { return form_.template bytes<T>(tensor); });
        }
    }
    int64_t bytes() const override { return bytes_; }
    bool on_queue() const override { return false; }
    void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                arena::Queue* queue) override {
        const arena::HostRows from(v, queue, "rows that are compressed");
        arena::with_type(v.type, [&]<class T>() {
            for (int64_t i = 0; i < v.count; ++i) {
                for (size_t t = 0; t < tensors_.size(); ++t) {
                    form_.template encode<T>(coding(set, v.first + i, t),
                                             from.rows().row<const T>(i) + tensors_[t].offset,
                                             messages.at(i, 0) + offsets_[t]);
                }
            }
        });
    }
    void add(arena::Rows out, std::span<const std::vector<Incoming>> messages,
             const MessageSet& set, arena::Queue* queue) override {
        arena::HostRows to(out, queue, "rows that compressed ones are added to");
        arena::with_type(out.type, [&]<class T>() {
            for (int64_t i = 0; i < out.count; ++i) {
                for (const Incoming& one : messages[static_cast<size_t>(i)]) {
                    for (size_t t = 0; t < tensors_.size(); ++t) {
                        form_.template add<T>(coding(set, one.replica, t),
                                              one.message + offsets_[t], static_cast<T>(one.factor),
                                              to.rows().row<T>(i) + tensors_[t].offset);
                    }
                }
            }
        });
        to.put_back();
    }

private:
    Coding coding(const MessageSet& set, int64_t replica, size_t t) const {
        return {tensors_[t], set.of(replica).random(static_cast<int>(t))};
    }

    Form form_;
    const std::vector<arena::Tensor>& tensors_;
    std::vector<int64_t> offsets_;  // per tensor, in a message
    int64_t bytes_ = 0;
};

template <class Form>
std::unique_ptr<Codec> codec_on_host(Form form) {
    return std::make_unique<CodecOf<HostCoder<Form>, Form>>(std::move(form));
}

}  // namespace dbench::algorithms
