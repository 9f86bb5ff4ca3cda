#pragma once
// Transports that forward all calls to another transport. Decorators derive from them and override
// the calls that they change.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/transport/membership.hpp"

namespace dbench::comm::tests {

template <class Kind>
class ForwardingTransport : public Kind {
public:
    explicit ForwardingTransport(std::unique_ptr<Kind> inner) : inner_(std::move(inner)) {}

    int tags() const override { return inner_->tags(); }
    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        return inner_->start(out, in);
    }
    void abandon() override { inner_->abandon(); }

protected:
    Kind& inner() { return *inner_; }

private:
    std::unique_ptr<Kind> inner_;
};

class ForwardingRows : public ForwardingTransport<RowTransport> {
public:
    using Kind = RowTransport;
    using ForwardingTransport::ForwardingTransport;
    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        return inner().start_sum(type, from, to, count);
    }
    arena::Queue* queue() override { return inner().queue(); }
    bool reads_devices() override { return inner().reads_devices(); }
};

class ForwardingControl : public ForwardingTransport<ControlTransport> {
public:
    using Kind = ControlTransport;
    using ForwardingTransport::ForwardingTransport;
    std::unique_ptr<Transfer> start_control_message(int to, const std::string& text) override {
        return inner().start_control_message(to, text);
    }
    std::optional<ControlMessage> take_control_message() override {
        return inner().take_control_message();
    }
    void abort(int status) override { inner().abort(status); }
};

}  // namespace dbench::comm::tests
