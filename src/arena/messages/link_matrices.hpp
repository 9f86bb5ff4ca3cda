#pragma once
// A matrix of rank 1, p q', for each tensor and each link of a replica, near the difference of the
// tensors at the link's two ends (algorithms/types/powergossip.cpp). In turn p and q are found from
// the other: what is sent over a link are products of the replica's tensors with one of them, and
// tensors of one dimension as they are. Computed on a queue where there is one.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/placed.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A tensor, taken as a matrix with a row for each index of its first dimension; one without
/// columns goes as it is.
struct LinkMatrix {
    int64_t column, numel;  ///< of the tensor
    int64_t rows, columns;
    int64_t p, q, whole;  ///< where it begins among all p, all q, and all that goes as it is
};

/// A row of a matrix, some of its columns, or elements of a tensor that goes as it is.
struct LinkPiece {
    int64_t matrix;
    int64_t begin, count;
};

/// One of a row's links, in their order there.
struct MatrixLink {
    int64_t row, number;  ///< the number counts the row's links
    int64_t low, high;    ///< replicas at its ends
};

/// What has come over one, of which the row's own message is the other half.
struct HeardOver {
    const char* message;
    double weight;  ///< of the replica there
    bool first;     ///< whether the row's replica is the lower one
};

/// Which of the two is found.
enum class Found : uint8_t { p, q };

class LinkMatrices {
public:
    LinkMatrices(const Layout& layout, DType type);

    int64_t all(Found found) const { return found == Found::p ? all_p_ : all_q_; }
    /// Of a message: a vector for each matrix, then all that goes as it is.
    int64_t elements(Found found) const { return all(found) + all_whole_; }

    /// Makes the known vectors of each link, all(the other one) numbers for each of a row's links,
    /// one after another, of length 1, and writes what is sent over it, elements(found) numbers for
    /// each likewise. A vector of zeros is drawn anew: its numbers are uniform in [-1, 1), from the
    /// stream of (low, high, draws.iteration, matrix).
    void send(Rows x, Rows known, Found found, std::span<const MatrixLink> links,
              const Draws& draws, Rows messages, Queue* queue = nullptr) const;
    /// The found vectors become the lower end's product less the higher one's; x_i goes towards
    /// what is at the other end of each of its links, by w p q', and by w times the difference of
    /// what goes as it is; elements are rounded after each link.
    void take(Rows x, Rows p, Rows q, Found found, std::span<const std::vector<HeardOver>> heard,
              Rows messages, Queue* queue = nullptr) const;

private:
    const Layout& layout_;
    DType type_;
    Placed<LinkMatrix> matrices_;
    Placed<int64_t> of_two_;  // those that have columns
    Placed<LinkPiece> by_rows_, by_columns_;
    int64_t all_p_ = 0, all_q_ = 0, all_whole_ = 0;
};

}  // namespace dbench::arena
