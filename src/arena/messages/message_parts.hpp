#pragma once
// Messages of few bits per element. The part of each tensor begins with a number of the tensor, if
// its form has one, followed by codes of fixed width, one after another, lowest bit first. All
// functions can run on a queue.

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/device/read_only_array.hpp"
#include "arena/layout.hpp"
#include "arena/loops.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// How a tensor's number is computed from its elements.
enum class PartNumber : uint8_t { none, norm, mean_magnitude };

// Forms of codes. Q(v) of an element is value() of its code.

/// Elements without encoding.
struct Whole {
    static constexpr PartNumber kNumber = PartNumber::none;
    bool draws() const { return false; }
};

/// 16 bits, rounded to nearest. If stochastic: rounded to one of the two neighbours at random, with
/// mean v.
struct Halves {
    static constexpr PartNumber kNumber = PartNumber::none;
    ElementCodec form;
    bool stochastic;
    bool draws() const { return stochastic; }
};

/// One bit: the sign of v (+ for 0), times the tensor's mean magnitude.
struct Signs {
    static constexpr PartNumber kNumber = PartNumber::mean_magnitude;
    bool draws() const { return false; }
};

/// |v| as a whole number of s = 2^bits - 1 levels of the tensor's norm, rounded up or down at
/// random, and the sign: bits + 1 bits. Unless `unbiased`, values are multiplied by a factor that
/// depends on numel (step_of).
struct Levels {
    static constexpr PartNumber kNumber = PartNumber::norm;
    int bits;
    bool unbiased;
    bool draws() const { return true; }
};

/// v modulo B, in [-B/2, B/2), as one of 2^bits levels, rounded up or down at random: level k is (k
/// delta - 1/2) B, delta = 1 / (2^bits - 1). A value has a meaning only relative to a nearby row
/// (approach_residues).
struct Residues {
    static constexpr PartNumber kNumber = PartNumber::none;
    int bits;
    double modulus;
    bool draws() const { return true; }
};

/// The random streams of the messages of one iteration. The stream of tensor t of replica i is the
/// child of `root` by (i, iteration, part, t), like the words of base::Random. If `shared`, all
/// replicas use the stream of replica `first`.
struct Draws {
    uint64_t root = 0;
    uint32_t purpose = 0;
    int64_t first = 0, iteration = 0;
    int part = 0;
    bool shared = false;
};

/// A tensor's part of a message.
struct MessagePart {
    int64_t column, numel;      ///< Columns of the tensor.
    int64_t at;                 ///< Byte offset of the part in a message.
    int64_t segment, segments;  ///< First segment of the tensor and number of its segments.
};

/// A message and the factor of its values.
struct WeightedMessage {
    const char* message;
    double factor;
};

/// Makes and adds messages of one form, for rows of one layout.
template <class Form>
class MessageParts {
public:
    /// Bytes of the part of a tensor of `numel` elements.
    static int64_t bytes(const Form& form, int64_t numel, DType type);

    MessageParts(Form form, const Layout& layout, DType type);

    int64_t bytes() const { return bytes_; }  ///< Bytes of a message.
    const Form& form() const { return form_; }
    const ReadOnlyArray<MessagePart>& parts() const { return parts_; }

    /// Writes row i's message to the beginning of row i of `messages`.
    void encode(Rows v, const Draws& draws, Rows messages, Queue& queue = host_queue());
    /// Computes out_i += sum of factor Q(v) over row i's messages, in their order. Elements are
    /// rounded after each message.
    void add(Rows out, std::span<const std::vector<WeightedMessage>> messages,
             Queue& queue = host_queue()) const requires(!std::is_same_v<Form, Residues>);

private:
    Form form_;
    const Layout& layout_;
    DType type_;
    ReadOnlyArray<MessagePart> parts_;
    int64_t bytes_ = 0;
    Buffer sums_;  // float64: [rows, segments], then [rows, tensors].
};

extern template class MessageParts<Whole>;
extern template class MessageParts<Halves>;
extern template class MessageParts<Signs>;
extern template class MessageParts<Levels>;
extern template class MessageParts<Residues>;

/// Computes x_i += gamma sum_j w_ij (((q_j - x_i) mod B) - e_i) with e_i = q_i - (x_i mod B); q are
/// level values in units of B. The `messages` of row i are its own message, then those of the j
/// with their weights. `draws` must be the streams that all messages were encoded with. Counts
/// elements for which some q_j cannot come from a neighbour that is nearer than theta = B (1/2 -
/// delta): far_i += their number. `counts` must hold a float64 number per row and segment until the
/// kernel has run.
void approach_residues(const MessageParts<Residues>& parts, const Layout& layout, Rows x,
                       std::span<const std::vector<WeightedMessage>> messages, const Draws& draws,
                       double gamma, double* counts, Rows far, Queue& queue = host_queue());

}  // namespace dbench::arena
