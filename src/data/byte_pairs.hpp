#pragma once
// Byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909) on bytes, so that every text can be
// encoded.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dbench::data {

/// Returns the words of a line with one blank between them and none at the ends.
std::string normalised(std::string_view line);

/// A vocabulary of numbered pieces of text: kPadToken, kBeginToken and kEndToken, which represent
/// no text; the 256 bytes; then one piece for each merge of two earlier pieces. A word is encoded
/// together with the blank before it, and separately from punctuation that touches it.
class BytePairs {
public:
    static constexpr int64_t kBytes = 3;              ///< Number of byte 0.
    static constexpr int64_t kMerged = kBytes + 256;  ///< Number of the first merged piece.

    /// Learns a vocabulary from `lines`: repeatedly merges the most frequent pair of adjacent
    /// pieces inside words, until there are `size` pieces or no pair occurs twice. Among equally
    /// frequent pairs, the pair with the smallest left number wins, then the one with the smallest
    /// right number.
    BytePairs(const std::vector<std::string>& lines, int64_t size);

    using Pair = std::pair<int32_t, int32_t>;  ///< Numbers of the left and right piece.
    /// Builds the vocabulary of these merges, in order. Precondition: problem(merges) is empty.
    explicit BytePairs(std::span<const Pair> merges);
    /// Returns why these cannot be the merges of a vocabulary, in order; "" if they can.
    static std::string problem(std::span<const Pair> merges);
    /// Returns the vocabulary of the first `size` pieces, which is the one that the learning
    /// constructor returns for this size. `size` is at least kMerged and at most size().
    BytePairs first(int64_t size) const;

    int64_t size() const { return kMerged + static_cast<int64_t>(merges_.size()); }
    std::vector<std::vector<int32_t>> encode(const std::vector<std::string>& lines) const;
    /// Returns the text of pieces; decode(encode(line)) is normalised(line).
    std::string decode(std::span<const int64_t> pieces) const;
    /// Returns the merges in order, one per line: the numbers of the left and right piece.
    std::string text() const;

private:
    std::vector<int32_t> encode_word(const std::string& word) const;
    void add(Pair pair);

    std::vector<Pair> merges_;
    /// The piece that a pair is merged to, by the key of the pair.
    std::unordered_map<uint64_t, int32_t> pieces_;
    std::vector<std::string> texts_;  ///< Text of each piece.
};

}  // namespace dbench::data
