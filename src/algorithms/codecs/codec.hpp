#pragma once
// Compressed messages: between rows and bytes, tensor by tensor. What the bytes hold is Q(v), and
// they are what a message occupies on the wire. Noise is keyed, so that no bit depends on where a
// replica is placed. Values travel in the precision of the run.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/rows.hpp"
#include "base/family.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {

/// Names a message of a run, and with it the stream of its random numbers.
struct MessageKey {
    uint64_t seed;
    int64_t replica;    ///< who sends it
    int64_t iteration;  ///< when
    int part = 0;       ///< which of the iteration's messages

    base::Random random(int tensor) const {
        return {seed,
                base::Purpose::message,
                {static_cast<uint64_t>(replica), static_cast<uint64_t>(iteration),
                 static_cast<uint64_t>(part), static_cast<uint64_t>(tensor)}};
    }
};

/// Messages of one time, of any replica.
struct MessageSet {
    uint64_t seed;
    int64_t iteration;
    int part = 0;
    MessageKey of(int64_t replica) const { return {seed, replica, iteration, part}; }
    bool operator==(const MessageSet&) const = default;
};

/// A replica's message, and what Q(v) counts for.
struct Incoming {
    int64_t replica;
    double factor;
    const char* message;
};

/// The same without senders, row by row.
inline std::vector<std::vector<arena::WeighedMessage>> weighed(
    std::span<const std::vector<Incoming>> messages) {
    std::vector<std::vector<arena::WeighedMessage>> all(messages.size());
    for (size_t i = 0; i < messages.size(); ++i) {
        for (const Incoming& one : messages[i]) all[i].push_back({one.message, one.factor});
    }
    return all;
}

/// A codec for the rows of one layout.
class Coder {
public:
    virtual ~Coder() = default;
    /// Of a message, whatever its values.
    virtual int64_t bytes() const = 0;
    /// Row i's message to the beginning of row i of `messages`; a tensor of zeros becomes one of
    /// zeros.
    virtual void encode(arena::Rows v, const MessageSet& set, arena::Rows messages,
                        arena::Queue* queue) = 0;
    /// out_i += sum of factor Q(v), in the order of row i's messages; factors are not 0.
    virtual void add(arena::Rows out, std::span<const std::vector<Incoming>> messages,
                     const MessageSet& set, arena::Queue* queue) = 0;
};

class Codec {
public:
    virtual ~Codec() = default;
    /// For rows of `layout`, which has to outlive it.
    virtual std::unique_ptr<Coder> coder(const arena::Layout& layout, arena::DType type) const = 0;
};

/// That of a form, which a coder of the given kind is made from.
template <class CoderOfForm, class Form>
class CodecOf final : public Codec {
public:
    explicit CodecOf(Form form) : form_(std::move(form)) {}
    std::unique_ptr<Coder> coder(const arena::Layout& layout, arena::DType type) const override {
        return std::make_unique<CoderOfForm>(form_, layout, type);
    }

private:
    Form form_;
};

struct CodecEntry : base::Entry {
    std::unique_ptr<Codec> (*make)(const base::Json& spec);
    bool keyed = false;  ///< draws random numbers, whatever its parameters
};
/// All codecs, in the order of documentation.
const std::vector<CodecEntry>& codec_table();

/// A resolved /message of the spec, as a codec.
std::unique_ptr<Codec> make_codec(const base::Json& message);

}  // namespace dbench::algorithms
