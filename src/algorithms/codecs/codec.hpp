#pragma once
// Codecs of compressed messages: they encode rows as bytes, tensor by tensor. The decoded value is
// written Q(v). The bytes are exactly what a message occupies on the wire. Random numbers are
// keyed, so that no bit depends on the rank of a replica. Uncompressed values have the precision of
// the run.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/rows.hpp"
#include "base/factory_entry.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {

/// Identifies a message of a run, and with it the stream of its random numbers.
struct MessageKey {
    uint64_t seed;
    int64_t replica;    ///< Sender.
    int64_t iteration;  ///< Iteration of the message.
    int part = 0;       ///< Number among the iteration's messages.

    /// Returns the random numbers of one tensor of the message.
    base::Random random(int tensor) const {
        return {seed,
                base::Purpose::message,
                {static_cast<uint64_t>(replica), static_cast<uint64_t>(iteration),
                 static_cast<uint64_t>(part), static_cast<uint64_t>(tensor)}};
    }
};

/// Identifies the messages of all replicas at one point of the run.
struct MessageSet {
    uint64_t seed;
    int64_t iteration;
    int part = 0;
    MessageKey of(int64_t replica) const { return {seed, replica, iteration, part}; }
    bool operator==(const MessageSet&) const = default;
};

/// A replica's encoded message, and the factor of Q(v) in a sum.
struct Incoming {
    int64_t replica;
    double factor;
    const char* message;
};

/// Returns the messages row by row without their senders.
inline std::vector<std::vector<arena::WeightedMessage>> without_senders(
    std::span<const std::vector<Incoming>> messages) {
    std::vector<std::vector<arena::WeightedMessage>> all(messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
        for (const Incoming& one : messages[i]) all[i].push_back({one.message, one.factor});
    }
    return all;
}

/// A codec applied to rows of one layout. One object belongs to one algorithm object and one
/// thread.
class Coder {
public:
    virtual ~Coder() = default;
    /// Returns the bytes of a message; they do not depend on the values.
    virtual int64_t bytes() const = 0;
    /// Encodes row i of `v` into the first bytes of row i of `messages`. A tensor of zeros must
    /// decode to zeros.
    virtual void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                        arena::Queue& queue) = 0;
    /// Computes out_i += sum of factor Q(v), in the order of row i's messages. Factors must not be
    /// 0.
    virtual void add(arena::Rows out, std::span<const std::vector<Incoming>> messages,
                     const MessageSet& set, arena::Queue& queue) = 0;
};

/// A resolved codec of the spec.
class Codec {
public:
    virtual ~Codec() = default;
    /// Makes a coder for rows of `layout`, which must outlive the coder.
    virtual std::unique_ptr<Coder> coder(const arena::Layout& layout, arena::DType type) const = 0;
};

/// A codec that is defined by a parameter value `Form` and a coder class made from it.
template <class CoderOfForm, class Form>
class CodecFromForm final : public Codec {
public:
    explicit CodecFromForm(Form form) : form_(std::move(form)) {}
    std::unique_ptr<Coder> coder(const arena::Layout& layout, arena::DType type) const override {
        return std::make_unique<CoderOfForm>(form_, layout, type);
    }

private:
    Form form_;
};

/// One codec in the table.
struct CodecEntry : base::FactoryEntry<std::unique_ptr<Codec>()> {
    template <class S>
    CodecEntry(std::string name, std::string help, std::unique_ptr<Codec> (*factory)(const S&),
               bool keyed = false)
        : FactoryEntry(std::move(name), std::move(help), factory), keyed(keyed) {}
    bool keyed;  ///< Draws random numbers, whatever its keys.
};
/// Returns all codecs, in the order of the documentation.
const std::vector<CodecEntry>& codec_table();

/// Makes the codec of a resolved /message of the spec.
std::unique_ptr<Codec> make_codec(const base::Json& message);

}  // namespace dbench::algorithms
