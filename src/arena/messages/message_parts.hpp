#pragma once
// Rows as messages of few bits an element, tensor by tensor: each part begins with a number of the
// tensor's, where its form has one, and goes on with codes of fixed width, one after another,
// lowest bit first. What is made and read here may be computed on a queue.

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "arena/device/placed.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/loops.hpp"
#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// How a tensor's number is found from a sum over its elements.
enum class PartNumber : uint8_t { none, norm, mean_magnitude };

// Forms of codes. Q(v) of an element is what value() gives for its code.

/// Elements as they are.
struct Whole {
    static constexpr PartNumber kNumber = PartNumber::none;
    bool draws() const { return false; }
};

/// 16 bits, to the nearest; stochastic: to one of the two neighbours, with v as the mean.
struct Halves {
    static constexpr PartNumber kNumber = PartNumber::none;
    Codec form;
    bool stochastic;
    bool draws() const { return stochastic; }
};

/// A bit: the sign of v, + for 0, times the tensor's mean magnitude.
struct Signs {
    static constexpr PartNumber kNumber = PartNumber::mean_magnitude;
    bool draws() const { return false; }
};

/// |v| as a whole number of s = 2^bits - 1 levels of the tensor's norm, up or down by chance, and
/// the sign: bits + 1 bits. Values are as the algorithm has them: times `shrink(numel)`.
struct Levels {
    static constexpr PartNumber kNumber = PartNumber::norm;
    int bits;
    bool unbiased;
    bool draws() const { return true; }
};

/// v modulo B, in [-B/2, B/2), as one of 2^bits levels, up or down by chance: level k is (k delta -
/// 1/2) B, delta = 1 / (2^bits - 1). Not a Q: a value counts beside a row that is near
/// (approach_residues).
struct Residues {
    static constexpr PartNumber kNumber = PartNumber::none;
    int bits;
    double modulus;
    bool draws() const { return true; }
};

/// The streams of a time's messages: that of tensor t of replica i is the child of `root` by (i,
/// iteration, part, t), as base::Random's words. Where shared, all replicas have that of replica
/// `first`.
struct Draws {
    uint64_t root = 0;
    uint32_t purpose = 0;
    int64_t first = 0, iteration = 0;
    int part = 0;
    bool shared = false;
};

/// A tensor's part.
struct MessagePart {
    int64_t column, numel;      ///< of the tensor
    int64_t at;                 ///< bytes of a message before it
    int64_t segment, segments;  ///< of the tensor: the first, and how many
};

/// A message, and what its values count for.
struct WeighedMessage {
    const char* message;
    double factor;
};

/// Messages of one form, of rows of one layout.
template <class Form>
class MessageParts {
public:
    /// Of a tensor of so many elements.
    static int64_t bytes(const Form& form, int64_t numel, DType type);

    MessageParts(Form form, const Layout& layout, DType type);

    int64_t bytes() const { return bytes_; }  ///< of a message
    const Form& form() const { return form_; }
    const Placed<MessagePart>& parts() const { return parts_; }

    /// Row i's message to the beginning of row i of `messages`.
    void encode(Rows v, const Draws& draws, Rows messages, Queue* queue = nullptr);
    /// out_i += sum of factor Q(v) over row i's messages, in their order; elements are rounded
    /// after each.
    void add(Rows out, std::span<const std::vector<WeighedMessage>> messages,
             Queue* queue = nullptr) const requires(!std::is_same_v<Form, Residues>);

private:
    Form form_;
    const Layout& layout_;
    DType type_;
    Placed<MessagePart> parts_;
    int64_t bytes_ = 0;
    Buffer sums_;  // float64, [rows, segments] and [rows, tensors]
};

extern template class MessageParts<Whole>;
extern template class MessageParts<Halves>;
extern template class MessageParts<Signs>;
extern template class MessageParts<Levels>;
extern template class MessageParts<Residues>;

/// x_i += gamma sum_j w_ij (((q_j - x_i) mod B) - e_i), e_i = q_i - (x_i mod B), q in units of B as
/// levels have them: `messages` of row i are its own, then those of the j with their weights.
/// `draws` is what they were all encoded with: elements of which some q_j cannot be that of a
/// neighbour nearer than theta = B (1/2 - delta) are counted, far_i += their number. `counts`:
/// float64 for rows x segments, until it has run.
void approach_residues(const MessageParts<Residues>& parts, const Layout& layout, Rows x,
                       std::span<const std::vector<WeighedMessage>> messages, const Draws& draws,
                       double gamma, double* counts, Rows far, Queue* queue = nullptr);

}  // namespace dbench::arena
