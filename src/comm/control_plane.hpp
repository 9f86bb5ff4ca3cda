#pragma once
// The plane of control: small things that all ranks wait for (the texts of World's collectives, by
// `start`), failures, and the end. It must work when rows do not move any more.

#include <memory>
#include <optional>
#include <string>

#include "comm/plane.hpp"

namespace dbench::comm {

/// A text that nobody asked for.
struct Letter {
    int rank;  ///< who wrote it
    std::string text;
};

class ControlPlane : public Plane {
public:
    static constexpr size_t kLongestLetter = 4000;  ///< leaves without the receiver's help

    /// Starts to send a letter, apart from all messages; `text` stays as a message's memory does.
    virtual std::unique_ptr<Transfer> start_letter(int to, const std::string& text) = 0;
    /// Takes a letter that has come, if any. Never blocks. Throws RunError.
    virtual std::optional<Letter> letter() = 0;

    /// Ends all ranks now, whatever they and other threads of this one are doing.
    [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace dbench::comm
