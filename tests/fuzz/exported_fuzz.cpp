// Fuzz target for files of exported models: a ZIP archive with JSON documents and bytes of tensors.
// An input that is no archive is the document of a graph.

#include <nlohmann/json.hpp>

#include "fuzz.hpp"
#include "train/models/exported/file.hpp"

namespace dbench::fuzz {

const char* const kWords[] = {"PK\x01\x02",
                              "PK\x05\x06",
                              "\xff\xff\xff\xff",
                              "/../",
                              "as_int",
                              "as_name",
                              "as_tensors",
                              "9223372036854775807",
                              "-9223372036854775808",
                              "\"use_pickle\": true",
                              "\"dtype\": 10",
                              "\"Infinity\"",
                              "\"storage_offset\"",
                              "null",
                              "{}",
                              "[]",
                              nullptr};

void read(const std::string& input) {
    if (input.starts_with("PK")) {
        const train::ExportedFile file = train::read_exported("model.pt2", input);
        uint64_t sum = 0;
        for (const auto& [name, tensor] : file.weights) {
            // The last byte that the tensor covers.
            size_t last = static_cast<size_t>(tensor.offset);
            for (size_t k = 0; k < tensor.sizes.size(); ++k) {
                if (tensor.sizes[k] == 0) return;
                last += static_cast<size_t>((tensor.sizes[k] - 1) * tensor.strides[k]);
            }
            sum += static_cast<unsigned char>(tensor.bytes->at(last));
        }
        static_cast<void>(sum);
    } else {
        static_cast<void>(train::read_graph(base::parse_json(input, "graph"), "graph"));
    }
}

}  // namespace dbench::fuzz
