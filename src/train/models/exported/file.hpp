#pragma once  // Private to train/models/exported.
// The file of an exported model (dbench-export): a ZIP archive of torch.export's JSON documents and
// of the bytes of tensors. It is read and checked without LibTorch. Nothing in it is executed:
// pickled tensors are refused, and names of entries are never used as paths.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "train/models/exported/graph.hpp"

namespace dbench::train {

/// The types of elements, by torch.export's numbers.
enum class ElementType : uint8_t {
    uint8 = 1,
    int8 = 2,
    int16 = 3,
    int32 = 4,
    int64 = 5,
    float16 = 6,
    float32 = 7,
    float64 = 8,
    complex32 = 9,
    complex64 = 10,
    complex128 = 11,
    boolean = 12,
    bfloat16 = 13
};
bool is_real(ElementType type);

/// A tensor of the file: elements at offset + sum of index * stride of `bytes`. All of them are
/// inside `bytes`.
struct ExportedTensor {
    ElementType type;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    bool trains = false;  ///< It requires a gradient.
    std::string payload;  ///< The entry of the archive; tensors that share it may be the same.
    std::shared_ptr<const std::string> bytes;

    /// True if both are the same elements of the file.
    bool operator==(const ExportedTensor& other) const {
        return payload == other.payload && type == other.type && offset == other.offset &&
               sizes == other.sizes && strides == other.strides;
    }
};

/// Facts about the model that dbench-export writes next to torch.export's documents.
struct ExportManifest {
    enum class Input : uint8_t { image, features, tokens };
    enum class Loss : uint8_t { cross_entropy, mse, graph };

    std::string train, eval;  ///< The names of the two graphs.
    Input input;
    std::vector<int64_t> shape;           ///< The shape of one sample.
    std::vector<data::InputPart> inputs;  ///< The parts of a sample, if it has several.
    int64_t classes = 0;                  ///< 0: the outputs are real numbers.
    size_t output = 0;  ///< The number of the output that holds the logits or values.
    Loss loss = Loss::cross_entropy;
    std::string loss_graph;  ///< The name of the graph that computes the loss, if there is one.
    /// The weights of the auxiliary losses in training. They belong to the outputs 1, 2, ... of the
    /// training graph.
    std::vector<double> auxiliary;
};

struct ExportedFile {
    std::string path;
    ExportManifest manifest;
    ExportedGraph train, eval;
    /// Maps the outputs of `train` (or `eval`) and the targets to the loss of the batch or of each
    /// sample.
    std::optional<ExportedGraph> loss;
    std::vector<std::string> parameters;  ///< Their names, in the order of named_parameters().
    std::map<std::string, ExportedTensor> weights;  ///< Parameters and persistent buffers, by name.
    /// Constants and the other buffers of each graph, by name: graphs may give the same name to
    /// different constants.
    std::map<std::string, ExportedTensor> train_constants, eval_constants, loss_constants;

    /// Returns the tensor of an input of `graph`, one of the graphs of this file. Precondition: the
    /// input is none of the user's.
    const ExportedTensor& tensor_of(const ExportedGraph& graph, const ExportedInput& input) const;
};

/// Reads `bytes`, the contents of the file `path`. Throws UserError, which names the file and the
/// reason.
ExportedFile read_exported(const std::string& path, std::string bytes);

}  // namespace dbench::train
