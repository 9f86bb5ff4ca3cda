#pragma once
// Messages that hold some elements of each tensor of a row, and the addition of such messages to
// rows. The indices of the elements (32-bit numbers inside the tensor, ascending) are part of the
// message, or are known to both sides. All functions can run on a queue.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/device/read_only_array.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A tensor's part of a message.
struct ChosenPart {
    int64_t column, numel;  ///< Columns of the tensor.
    int64_t kept;           ///< Number of chosen elements, at least one.
    int64_t before;         ///< Number of chosen elements in earlier parts.
    int64_t indices;  ///< Byte offset of the indices, in the message or in the separate array of
                      ///< indices.
    int64_t values;   ///< Byte offset of the values in the message.
    int64_t first, pieces;  ///< First piece of the tensor and number of its pieces.
};

/// A part of a tensor that one block processes.
struct ChosenPiece {
    int64_t part;
    int64_t begin, count;  ///< Inside the tensor.
};

/// A received message with its indices and the factor of its values.
struct ChosenMessage {
    const char* indices;  ///< The message itself if it includes the indices.
    const char* message;
    double factor;
};

/// Makes and adds messages for the rows of one layout. All addresses and byte offsets are multiples
/// of 4.
class ChosenParts {
public:
    /// Sends kept[t] elements of tensor t. If `scaled`, values are multiplied by numel / kept when
    /// they are added.
    ChosenParts(const Layout& layout, DType type, std::span<const int64_t> kept, bool sends_indices,
                bool scaled);

    int64_t bytes() const { return bytes_; }    ///< Bytes of a message.
    int64_t chosen() const { return chosen_; }  ///< Elements of a message.
    const std::vector<ChosenPart>& parts() const { return parts_.values(); }

    /// Writes row i's message to the beginning of row i of `messages`: the elements of largest
    /// magnitude, with their indices. For equal magnitudes the lower index is chosen; the magnitude
    /// of a NaN is infinity.
    void send_largest(Rows v, Rows messages, Queue& queue = host_queue());
    /// Writes row i's message: the elements with indices indices[i] [chosen()], which are not part
    /// of the message.
    void send(Rows v, std::span<const uint32_t* const> indices, Rows messages,
              Queue& queue = host_queue()) const;
    /// Computes out_i += sum of factor Q(v) over row i's messages, in their order. Elements are
    /// rounded after each message.
    void add(Rows out, std::span<const std::vector<ChosenMessage>> messages,
             Queue& queue = host_queue()) const;

private:
    void send_largest_of_queue(Rows v, Rows messages, Queue& queue);

    const Layout& layout_;
    DType type_;
    bool sends_indices_, scaled_;
    ReadOnlyArray<ChosenPart> parts_;
    ReadOnlyArray<ChosenPiece> pieces_;  // In the order of columns.
    int64_t bytes_ = 0, chosen_ = 0;
    Buffer memory_;  // Scratch memory of a selection on a queue.
};

}  // namespace dbench::arena
