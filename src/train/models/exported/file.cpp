#include "train/models/exported/file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "data/zip.hpp"
#include "train/models/exported/fields.hpp"

namespace dbench::train {
namespace {

constexpr const char* kManifest = "extra/dbench.json";
/// Elements of a tensor that share memory may need this many bytes more than the file holds, and
/// those of all tensors together this many.
constexpr int64_t kMostExpanded = int64_t{1} << 28, kMostExpandedInAll = int64_t{1} << 30;

int64_t width_of(ElementType type) {
    switch (type) {
        case ElementType::uint8:
        case ElementType::int8:
        case ElementType::boolean:
            return 1;
        case ElementType::int16:
        case ElementType::float16:
        case ElementType::bfloat16:
            return 2;
        case ElementType::int32:
        case ElementType::float32:
        case ElementType::complex32:
            return 4;
        case ElementType::int64:
        case ElementType::float64:
        case ElementType::complex64:
            return 8;
        case ElementType::complex128:
            return 16;
    }
    return 0;
}

ElementType type_of(const Field& number) {
    const int64_t value = number.integer();
    for (const ElementType type :
         {ElementType::uint8, ElementType::int8, ElementType::int16, ElementType::int32,
          ElementType::int64, ElementType::float16, ElementType::float32, ElementType::float64,
          ElementType::complex32, ElementType::complex64, ElementType::complex128,
          ElementType::boolean, ElementType::bfloat16}) {
        if (value == static_cast<int64_t>(type)) return type;
    }
    number.refuse("is the unknown type " + std::to_string(value));
}

/// The archive, whose entries lie in one folder.
class Archive {
public:
    Archive(const std::string& path, std::string bytes)
        : zip_(path, std::move(bytes), {"a .pt2 file", "an exported model", kExportAgain}) {
        for (const std::string& name : zip_.names()) {
            if (name.starts_with('/') || ("/" + name + "/").find("/../") != name.npos) {
                refuse_export(path, "holds an entry outside of the archive");
            }
            const std::string folder = name.substr(0, name.find('/') + 1);
            if (folder.empty() || (!folder_.empty() && folder != folder_)) {
                refuse_export(path, "holds entries that are not in one folder");
            }
            folder_ = folder;
        }
    }
    const std::string& path() const { return zip_.path(); }
    bool has(const std::string& name) const { return zip_.has(folder_ + name); }
    std::string read(const std::string& name) const {
        if (!has(name)) refuse_export(path(), "holds no " + name);
        return zip_.read(folder_ + name);
    }
    base::Json json(const std::string& name) const {
        return base::parse_json(read(name), place(name));
    }
    std::string place(const std::string& name) const { return path() + " (" + name + ")"; }

private:
    data::Zip zip_;
    std::string folder_;
};

std::vector<int64_t> numbers(const Field& list) {
    std::vector<int64_t> all;
    for (size_t k = 0; k < list.size(); ++k) all.push_back(list.at(k).at("as_int").size_number());
    return all;
}

/// Throws UserError unless all elements are inside the tensor's bytes. `expanded` counts the bytes
/// that elements need in addition to the file's.
void check_extent(const ExportedTensor& tensor, const Field& meta, int64_t& expanded) {
    if (tensor.sizes.size() != tensor.strides.size()) meta.refuse("has sizes without strides");
    const int64_t width = width_of(tensor.type);
    const auto held = static_cast<int64_t>(tensor.bytes->size()) / width;
    const int64_t most = held + kMostExpanded / width;
    int64_t numel = 1, last = tensor.offset;
    const bool empty = std::ranges::find(tensor.sizes, 0) != tensor.sizes.end();
    for (size_t k = 0; k < tensor.sizes.size(); ++k) {
        const int64_t size = std::max<int64_t>(tensor.sizes[k], 1), stride = tensor.strides[k];
        if (size > most / numel) meta.refuse("has more elements than its bytes hold");
        numel *= size;
        if (empty) continue;
        if (size > 1 && stride > held / (size - 1)) meta.refuse("reads beyond its bytes");
        last = std::min(last, held);
        last += (size - 1) * stride;
    }
    if (!empty && last >= held) meta.refuse("reads beyond its bytes");
    if (!empty) expanded += std::max<int64_t>(numel - held, 0) * width;
    if (expanded > kMostExpandedInAll) {
        meta.refuse("has more elements than its bytes hold, as other tensors before it");
    }
}

/// Adds the tensors that the document `config` lists to those in `all`, except names that are
/// already there. Their bytes are entries in `folder`.
void read_tensors(const Archive& archive, const std::string& config, const std::string& folder,
                  std::map<std::string, ExportedTensor>& all, int64_t& expanded) {
    if (!archive.has(config)) return;
    const base::Json document = archive.json(config);
    const Field list = Field(document, archive.place(config) + ": ").at("config");
    if (!list.json().is_object()) list.refuse("is not an object");
    std::map<std::string, std::shared_ptr<const std::string>> read;
    for (const auto& item : list.json().items()) {
        if (all.contains(item.key())) continue;
        const Field each(item.value(), list.where() + "/" + item.key());
        const bool pickled = each.at("use_pickle").flag();
        if (pickled || !each.holds("tensor_meta")) {
            each.refuse(
                "is a pickled object, which only Python can read (it may run any code), such as a "
                "tensor of a subclass");
        }
        const Field meta = each.at("tensor_meta");
        const std::string entry = folder + each.at("path_name").text();
        auto& bytes = read[entry];
        if (!bytes) bytes = std::make_shared<const std::string>(archive.read(entry));
        ExportedTensor tensor{type_of(meta.at("dtype")),
                              numbers(meta.at("sizes")),
                              numbers(meta.at("strides")),
                              meta.at("storage_offset").at("as_int").size_number(),
                              meta.at("requires_grad").flag(),
                              entry,
                              bytes};
        if (meta.at("layout").integer() != 7) meta.refuse("is not a dense tensor");
        const bool complex =
            tensor.type >= ElementType::complex32 && tensor.type <= ElementType::complex128;
        if (complex && each.holds("is_param") && each.at("is_param").flag()) {
            meta.at("dtype").refuse(
                "is a complex type, which replicas cannot hold (rows are real numbers)");
        }
        check_extent(tensor, meta, expanded);
        all.emplace(item.key(), std::move(tensor));
    }
}

template <class E>
E word(const Field& text, std::initializer_list<std::pair<const char*, E>> words) {
    std::string names;
    for (const auto& [name, value] : words) {
        if (text.text() == name) return value;
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    text.refuse("is '" + text.text().substr(0, 60) + "' instead of one of " + names);
}

/// Reads the shape of a sample.
std::vector<int64_t> shape_of(const Field& list) {
    constexpr int64_t kMost = int64_t{1} << 40;
    std::vector<int64_t> shape;
    int64_t numel = 1;
    for (size_t k = 0; k < list.size(); ++k) {
        const int64_t size = list.at(k).size_number();
        if (size > kMost / std::max<int64_t>(numel, 1)) list.refuse("is too large for a sample");
        numel *= std::max<int64_t>(size, 1);
        shape.push_back(size);
    }
    return shape;
}

ExportManifest read_manifest(const Archive& archive) {
    using M = ExportManifest;
    if (!archive.has(kManifest)) {
        refuse_export(archive.path(), "was not written by dbench-export (it holds no " +
                                          std::string(kManifest) + ")");
    }
    const base::Json document = archive.json(kManifest);
    const Field all(document, archive.place(kManifest) + ": ");
    M m{};
    const int64_t format = all.at("format").integer();
    if (format != 1 && format != 2) all.at("format").refuse("is neither 1 nor 2");
    m.train = all.at("train").text();
    m.eval = all.at("eval").text();
    const Field input = all.at("input"), output = all.at("output");
    m.input = word<M::Input>(input.at("kind"), {{"image", M::Input::image},
                                                {"features", M::Input::features},
                                                {"tokens", M::Input::tokens}});
    m.shape = shape_of(input.at("shape"));
    if (input.holds("parts")) {
        const Field parts = input.at("parts");
        for (size_t k = 0; k < parts.size(); ++k) {
            m.inputs.push_back({parts.at(k).at("name").text(), shape_of(parts.at(k).at("shape"))});
        }
    }
    m.output = static_cast<size_t>(output.at("index").size_number());
    if (output.holds("classes")) m.classes = output.at("classes").size_number();
    m.loss = word<M::Loss>(all.at("loss"), {{"cross_entropy", M::Loss::cross_entropy},
                                            {"mse", M::Loss::mse},
                                            {"graph", M::Loss::graph}});
    if (m.loss == M::Loss::graph) {
        m.loss_graph = all.at("loss_graph").text();
    } else if ((m.loss == M::Loss::mse) != (m.classes == 0)) {
        all.at("loss").refuse("does not suit the number of classes");
    }
    if (!all.holds("auxiliary")) return m;
    const Field auxiliary = all.at("auxiliary");
    for (size_t k = 0; k < auxiliary.size(); ++k) {
        m.auxiliary.push_back(auxiliary.at(k).at("weight").number());
        if (!std::isfinite(m.auxiliary.back())) {
            auxiliary.at(k).refuse("has a weight that is not finite");
        }
    }
    if (!m.auxiliary.empty() && (m.loss == M::Loss::graph || m.output != 0)) {
        auxiliary.refuse("does not suit the loss or the output");
    }
    return m;
}

const std::map<std::string, ExportedTensor>& tensors_of(const ExportedFile& file,
                                                        const ExportedGraph& graph,
                                                        const ExportedInput& input) {
    if (file.loss && &graph == &*file.loss) return file.loss_constants;
    const bool weight = input.kind == ExportedInput::Kind::parameter ||
                        (input.kind == ExportedInput::Kind::buffer && input.persistent);
    if (weight) return file.weights;
    return &graph == &file.train ? file.train_constants : file.eval_constants;
}

/// Throws UserError unless the file holds every tensor that the graph reads, the graph reads
/// `given` inputs, and it returns the outputs with the numbers below `outputs`.
void require_tensors(const ExportedFile& file, const ExportedGraph& graph, size_t given,
                     size_t outputs) {
    size_t users = 0;
    for (const ExportedInput& input : graph.inputs) {
        users += input.kind == ExportedInput::Kind::user;
        if (input.kind == ExportedInput::Kind::user) continue;
        if (!tensors_of(file, graph, input).contains(input.name)) {
            refuse_export(graph.where, "reads " + input.name + ", which the file does not hold");
        }
    }
    if (users != given) {
        refuse_export(graph.where, "reads " + std::to_string(users) + " inputs, but " +
                                       (given == 1 ? "data sets supply one tensor"
                                                   : std::to_string(given) + " are given"));
    }
    for (size_t output = 0; output < outputs; ++output) {
        if (output >= graph.outputs.size() || graph.outputs[output] < 0) {
            refuse_export(graph.where, "has no output " + std::to_string(output));
        }
    }
}

void require_all_tensors(const ExportedFile& file) {
    const ExportManifest& m = file.manifest;
    require_tensors(file, file.eval, 1, m.output + 1);
    require_tensors(file, file.train, 1, std::max(m.output, m.auxiliary.size()) + 1);
    if (!file.loss) return;
    const size_t outputs = file.train.outputs.size();
    require_tensors(file, file.eval, 1, outputs);
    require_tensors(file, *file.loss, outputs + 1, 1);
}

}  // namespace

bool is_real(ElementType type) {
    return type == ElementType::float16 || type == ElementType::bfloat16 ||
           type == ElementType::float32 || type == ElementType::float64;
}

const ExportedTensor& ExportedFile::tensor_of(const ExportedGraph& graph,
                                              const ExportedInput& input) const {
    return tensors_of(*this, graph, input).at(input.name);
}

ExportedFile read_exported(const std::string& path, std::string bytes) {
    const Archive archive(path, std::move(bytes));
    ExportedFile file;
    file.path = path;
    file.manifest = read_manifest(archive);
    if (archive.has("byteorder") && archive.read("byteorder") != "little") {
        refuse_export(path, "holds numbers that are not little-endian");
    }
    const auto graph = [&](const std::string& name) {
        const std::string entry = "models/" + name + ".json";
        return read_graph(archive.json(entry), archive.place(entry));
    };
    file.train = graph(file.manifest.train);
    file.eval = graph(file.manifest.eval);
    if (!file.manifest.loss_graph.empty()) file.loss = graph(file.manifest.loss_graph);
    int64_t expanded = 0;
    for (const auto& [name, constants] : {std::pair(file.manifest.train, &file.train_constants),
                                          {file.manifest.eval, &file.eval_constants}}) {
        read_tensors(archive, "data/weights/" + name + "_weights_config.json", "data/weights/",
                     file.weights, expanded);
        read_tensors(archive, "data/constants/" + name + "_constants_config.json",
                     "data/constants/", *constants, expanded);
    }
    if (file.loss) {
        read_tensors(archive,
                     "data/constants/" + file.manifest.loss_graph + "_constants_config.json",
                     "data/constants/", file.loss_constants, expanded);
    }
    require_all_tensors(file);
    std::set<std::string> known;
    for (const ExportedGraph* each : {&file.train, &file.eval}) {
        for (const ExportedInput& input : each->inputs) {
            if (input.kind != ExportedInput::Kind::parameter) continue;
            if (known.insert(input.name).second) file.parameters.push_back(input.name);
        }
    }
    if (file.parameters.empty()) refuse_export(path, "has no parameters to train");
    return file;
}

}  // namespace dbench::train
