// The table of codecs.
#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"

namespace dbench::algorithms {

// All codecs in the order of the documentation. Each entry, NAME_codec(), is in its codec's file.
#define DBENCH_CODECS(ROW) \
    ROW(float32)           \
    ROW(bfloat16)          \
    ROW(float16)           \
    ROW(top_k)             \
    ROW(random_k)          \
    ROW(sign)              \
    ROW(qsgd)              \
    ROW(low_rank)

#define ROW_DECLARED(name) CodecEntry name##_codec();
#define ROW_MADE(name) name##_codec(),
DBENCH_CODECS(ROW_DECLARED)

const std::vector<CodecEntry>& codec_table() {
    static const std::vector<CodecEntry> table = {DBENCH_CODECS(ROW_MADE)};
    return table;
}

std::unique_ptr<Codec> make_codec(const base::Json& message) {
    const base::Json spec =
        base::resolve_member(message, "/message", "codec", base::entries_of(codec_table()));
    return base::find_entry(codec_table(), spec.at("type").get<std::string>())->make(spec);
}

}  // namespace dbench::algorithms
