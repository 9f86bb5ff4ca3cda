#pragma once
// Planes that pass everything on to another one: a decorator overrides what it wants to see.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/membership.hpp"

namespace dbench::comm::tests {

template <class Kind>
class ForwardingPlane : public Kind {
public:
    explicit ForwardingPlane(std::unique_ptr<Kind> inner) : inner_(std::move(inner)) {}

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

class ForwardingRows : public ForwardingPlane<RowPlane> {
public:
    using Kind = RowPlane;
    using ForwardingPlane::ForwardingPlane;
    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        return inner().start_sum(type, from, to, count);
    }
    arena::Queue* queue() override { return inner().queue(); }
    bool reads_devices() override { return inner().reads_devices(); }
};

class ForwardingControl : public ForwardingPlane<ControlPlane> {
public:
    using Kind = ControlPlane;
    using ForwardingPlane::ForwardingPlane;
    std::unique_ptr<Transfer> start_letter(int to, const std::string& text) override {
        return inner().start_letter(to, text);
    }
    std::optional<Letter> letter() override { return inner().letter(); }
    void abort(int status) override { inner().abort(status); }
};

}  // namespace dbench::comm::tests
