#pragma once
// PowerGossip's messages (algorithms/types/powergossip.cpp). For each tensor and each link of a
// replica there is a matrix of rank 1, p q', that approximates the difference of the tensors at the
// two ends of the link. In alternation p is computed from q and q from p. A message over a link
// holds the products of the replica's tensors with the known vector, and tensors of one dimension
// unchanged. All functions can run on a queue.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/device/read_only_array.hpp"
#include "arena/layout.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A tensor as a matrix with a row for each index of its first dimension. A tensor of one dimension
/// has 0 columns and is sent unchanged.
struct LinkMatrix {
    int64_t column, numel;  ///< Columns of the tensor in a replica's row.
    int64_t rows, columns;
    int64_t p, q, whole;  ///< Offset of this tensor among all p, all q, and all elements that are
                          ///< sent unchanged.
};

/// The part of a tensor that one block processes: a row of a matrix, some of its columns, or
/// elements of a tensor that is sent unchanged.
struct LinkPiece {
    int64_t matrix;
    int64_t begin, count;
};

/// A link of a row.
struct MatrixLink {
    int64_t row, number;  ///< `number` counts the links of the row.
    int64_t low, high;    ///< Replicas at the ends of the link.
};

/// A message received over a link. The row's own message over the same link is its counterpart.
struct ReceivedOverLink {
    const char* message;
    double weight;  ///< Weight of the other replica.
    bool first;     ///< True if the row's replica is the lower end of the link.
};

/// Says which of the two vectors is computed.
enum class LinkFactor : uint8_t { p, q };

/// Makes and applies the messages over links for the rows of one layout.
class LinkMatrices {
public:
    LinkMatrices(const Layout& layout, DType type);

    int64_t all(LinkFactor found) const { return found == LinkFactor::p ? all_p_ : all_q_; }
    /// Number of elements of a message: a vector for each matrix, then all elements that are sent
    /// unchanged.
    int64_t elements(LinkFactor found) const { return all(found) + all_whole_; }

    /// Normalises the known vectors of each link to length 1 and writes the message of each link.
    /// `known` holds all(the other vector) numbers for each of a row's links, one link after
    /// another; `messages` holds elements(found) numbers for each link likewise. A zero vector is
    /// drawn again: its numbers are uniform in [-1, 1), from the stream of (low, high,
    /// draws.iteration, matrix).
    void send(Rows x, Rows known, LinkFactor found, std::span<const MatrixLink> links,
              const Draws& draws, Rows messages, Queue& queue = host_queue()) const;
    /// Sets the computed vectors to the lower end's product minus the higher end's product. Then
    /// moves x_i towards the other end of each of its links: by w p q', and by w times the
    /// difference of elements that are sent unchanged. Elements are rounded after each link.
    void take(Rows x, Rows p, Rows q, LinkFactor found,
              std::span<const std::vector<ReceivedOverLink>> received, Rows messages,
              Queue& queue = host_queue()) const;

private:
    const Layout& layout_;
    DType type_;
    ReadOnlyArray<LinkMatrix> matrices_;
    ReadOnlyArray<int64_t> matrix_indices_;  // Tensors that have columns.
    ReadOnlyArray<LinkPiece> by_rows_, by_columns_;
    int64_t all_p_ = 0, all_q_ = 0, all_whole_ = 0;
};

}  // namespace dbench::arena
