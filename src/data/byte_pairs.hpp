#pragma once
// Byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909) over bytes, so that every text has
// pieces.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dbench::data {

/// The words of a line with one blank between them, and none at its ends.
std::string normalised(std::string_view line);

/// Pieces of text by number: kPadToken, kBeginToken and kEndToken, which stand for no text; the 256
/// bytes; then one for each merge of two earlier pieces. A word is encoded with the blank before
/// it, and apart from the punctuation that touches it.
class BytePairs {
public:
    static constexpr int64_t kBytes = 3;              ///< the number of byte 0
    static constexpr int64_t kMerged = kBytes + 256;  ///< that of the first merged piece

    /// Merges the most frequent pair of pieces inside words, again and again, until there are
    /// `size` pieces or no pair stands twice; of equally frequent pairs, the one of the smallest
    /// left and then right number.
    BytePairs(const std::vector<std::string>& lines, int64_t size);

    using Pair = std::pair<int32_t, int32_t>;  ///< the numbers of the pieces left and right
    /// These merges in order; there is no problem() with them.
    explicit BytePairs(std::span<const Pair> merges);
    /// Why these cannot be merges in order; "" where they can.
    static std::string problem(std::span<const Pair> merges);
    /// The first `size` pieces, at least kMerged and at most as many as there are: those that are
    /// learnt where so many are asked for.
    BytePairs first(int64_t size) const;

    int64_t size() const { return kMerged + static_cast<int64_t>(merges_.size()); }
    std::vector<std::vector<int32_t>> encode(const std::vector<std::string>& lines) const;
    /// The text of pieces; decode(encode(line)) is normalised(line).
    std::string decode(std::span<const int64_t> pieces) const;
    /// The merges in order, a line each: the numbers of the pieces left and right.
    std::string text() const;

private:
    std::vector<int32_t> encode_word(const std::string& word) const;
    void add(Pair pair);

    std::vector<Pair> merges_;
    std::unordered_map<uint64_t, int32_t> pieces_;  ///< what a pair is merged to
    std::vector<std::string> texts_;                ///< of every piece
};

}  // namespace dbench::data
