#pragma once
// Rows as messages of some elements of each tensor, and adding such messages to rows. Which these
// are, 32-bit numbers inside the tensor in ascending order, stands in the messages, or beside them
// where both sides know it. What is made and read here may be computed on a queue.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/placed.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A tensor's part.
struct ChosenPart {
    int64_t column, numel;  ///< of the tensor
    int64_t kept;           ///< how many elements are chosen, at least one
    int64_t before;         ///< how many are in the parts before it
    int64_t indices;        ///< bytes before them, in a message or in what is beside it
    int64_t values;         ///< bytes of a message before them
    int64_t first, pieces;  ///< of its pieces: the first, and how many
};

/// A part of a tensor, the unit in which elements are looked at.
struct ChosenPiece {
    int64_t part;
    int64_t begin, count;  ///< inside the tensor
};

/// A message, where its indices are, and what its values count for.
struct ChosenMessage {
    const char* indices;  ///< the message, where they are sent
    const char* message;
    double factor;
};

/// Messages of rows of one layout. All addresses, and bytes before a message, are multiples of 4.
class ChosenParts {
public:
    /// Of tensor t kept[t] elements. `scaled`: their values count numel / kept times.
    ChosenParts(const Layout& layout, DType type, std::span<const int64_t> kept, bool sends_indices,
                bool scaled);

    int64_t bytes() const { return bytes_; }    ///< of a message
    int64_t chosen() const { return chosen_; }  ///< elements of a message
    const std::vector<ChosenPart>& parts() const { return parts_.values(); }

    /// Row i's message to the beginning of row i of `messages`: the elements of the largest
    /// magnitude, ties to the lower index; a NaN's is infinity. Indices are sent.
    void send_largest(Rows v, Rows messages, Queue* queue = nullptr);
    /// Row i's message of the elements that indices[i] [chosen()] names, which are not sent.
    void send(Rows v, std::span<const uint32_t* const> indices, Rows messages,
              Queue* queue = nullptr) const;
    /// out_i += sum of factor Q(v) over row i's messages, in their order; elements are rounded
    /// after each.
    void add(Rows out, std::span<const std::vector<ChosenMessage>> messages,
             Queue* queue = nullptr) const;

private:
    void send_largest_of_queue(Rows v, Rows messages, Queue& queue);

    const Layout& layout_;
    DType type_;
    bool sends_indices_, scaled_;
    Placed<ChosenPart> parts_;
    Placed<ChosenPiece> pieces_;  // in the order of columns
    int64_t bytes_ = 0, chosen_ = 0;
    Buffer memory_;  // of a selection on a queue
};

}  // namespace dbench::arena
