// The page of a comparison with its icicle.
#include "viewer/views/diff_icicle.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QVBoxLayout>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
DiffIcicle::DiffIcicle(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kSpace / 2, 0, 0);
  column->setSpacing(kSpace / 2);
  column->addWidget(BuildBar());
  way_ = new RichLabel(this);
  way_->hide();
  column->addWidget(way_);
  scroll_ = new QScrollArea(this);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  canvas_ = new DiffCanvas(document, selection, scroll_);
  scroll_->setWidget(canvas_);
  column->addWidget(scroll_, 1);
  connect(direction_, &QComboBox::currentIndexChanged, this, &DiffIcicle::Ask);
  connect(from_site_, &QCheckBox::toggled, this, [this] {
    depth_chosen_ = true;
    trees_ = {};
    Ask();
  });
  connect(search_, &QLineEdit::textChanged, this, &DiffIcicle::Search);
  connect(selection_, &Selection::ZoomChanged, this, &DiffIcicle::Zoomed);
  connect(way_, &RichLabel::linkActivated, this, [this](const QString& depth) {
    selection_->SetFlamePath(selection_->flame_path().mid(0, depth.toInt()));
  });
}

QWidget* DiffIcicle::BuildBar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  direction_ = new QComboBox(bar);
  direction_->addItems({tr("From main()"), tr("From allocators")});
  direction_->setAccessibleName(tr("Direction"));
  from_site_ = new QCheckBox(tr("Hide libraries"), bar);
  from_site_->setToolTip(
      tr("Stacks from the call site outward, without CUDA, frameworks, the standard library and "
         "allocators. On where a program runs Python, until you choose."));
  search_ = new QLineEdit(bar);
  search_->setPlaceholderText(tr("Search function, file or module"));
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(110);
  note_ = new QLabel(bar);
  row->addWidget(direction_);
  row->addWidget(from_site_);
  row->addWidget(search_, 1);
  row->addWidget(note_);
  return bar;
}

void DiffIcicle::SetData(std::shared_ptr<const DiffData> found, bool own_is_before) {
  data_ = std::move(found);
  own_is_before_ = own_is_before;
  trees_ = {};
  job_.Cancel();
  if (data_ == nullptr) return Show({});
  if (!depth_chosen_) {
    const QSignalBlocker blocked(from_site_);
    from_site_->setChecked(RunsPython(*data_->question.after.session));
  }
  Ask();
}

void DiffIcicle::SetBottomUp(bool bottom_up) { direction_->setCurrentIndex(bottom_up ? 1 : 0); }
void DiffIcicle::SetFromSite(bool from_site) { from_site_->setChecked(from_site); }

void DiffIcicle::FocusSearch() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

void DiffIcicle::Ask() {
  stale_ = !isVisible();
  if (stale_ || data_ == nullptr) return;
  zoomed_to_ = selection_->flame_path();
  std::vector<std::string> zoom;
  for (const QString& function : zoomed_to_) zoom.push_back(function.toStdString());
  using Depth = analysis::CallStacks::Depth;
  job_.Start(
      [compared = data_, trees = trees_, zoom = std::move(zoom),
       bottom_up = direction_->currentIndex() == 1,
       depth = from_site_->isChecked() ? Depth::kFromSite : Depth::kWhole](std::stop_token stop) {
        Found found{trees, nullptr};
        if (found.trees.stacks == nullptr) found.trees = TreesOf(*compared, depth, stop);
        if (found.trees.stacks != nullptr && !stop.stop_requested())
          found.picture = std::make_shared<const DiffPicture>(
              PictureOf(*found.trees.stacks, bottom_up, kMinShare, zoom));
        return found;
      },
      [this](Found found) { Show(std::move(found)); });
}

void DiffIcicle::Show(Found found) {
  trees_ = std::move(found.trees);
  canvas_->SetPicture(std::move(found.picture), own_is_before_ ? trees_.before : trees_.after,
                      own_is_before_);
  Search(search_->text());
  ShowWay();
}

void DiffIcicle::Search(const QString& text) {
  canvas_->SetSearch(text);
  note_->setText(canvas_->matched() < 0 ? QString()
                                        : tr("%1 match").arg(FormatPercent(canvas_->matched())));
}

void DiffIcicle::Zoomed() {
  ShowWay();
  // Nodes that were too small to be drawn may now be visible.
  const bool partly = canvas_->tree() != nullptr && !canvas_->tree()->whole;
  if (partly && selection_->flame_path() != zoomed_to_) Ask();
}

// The whole way is in the picture as well, a row a function; the line is shorter.
void DiffIcicle::ShowWay() {
  const QStringList& path = selection_->flame_path();
  const bool known = canvas_->tree() != nullptr && FlameFind(*canvas_->tree(), path) != 0;
  way_->setVisible(known);
  if (!known) return;
  constexpr int kShown = 4;
  QStringList links = {QStringLiteral("<a href='0'>%1</a>").arg(tr("all"))};
  const int first = std::max(0, static_cast<int>(path.size()) - kShown);
  if (first > 0) links << QStringLiteral("…");
  for (int i = first; i < path.size(); ++i) {
    const QString name = ShortFunction(path[i]).toHtmlEscaped();
    links << (i + 1 == path.size() ? QStringLiteral("<b>%1</b>").arg(name)
                                   : QStringLiteral("<a href='%1'>%2</a>").arg(i + 1).arg(name));
  }
  way_->setText(links.join(QStringLiteral(" › ")));
}

void DiffIcicle::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) Ask();
}

void DiffIcicle::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  note_->setVisible(width() > search_->minimumWidth() + direction_->sizeHint().width() +
                                  from_site_->sizeHint().width() + note_->sizeHint().width() +
                                  4 * kSpace);
}

void DiffIcicle::WriteCsv(QTextStream* out) const {
  *out << "depth,function,file,line,module,before_bytes,after_bytes,change_bytes,before_blocks,"
          "after_blocks\n";
  if (trees_.stacks == nullptr) return;
  const DiffPicture all = PictureOf(*trees_.stacks, direction_->currentIndex() == 1);
  std::vector<int> depths(all.costs.size(), 0);
  for (std::size_t i = 1; i < depths.size(); ++i) {
    const analysis::FlameNode& node = all.flame.nodes[i];
    const DiffCost& cost = all.costs[i];
    depths[i] = depths[static_cast<std::size_t>(node.parent)] + 1;
    *out << depths[i] - 1 << ',' << CsvField(ToQString(node.function)) << ','
         << CsvField(ToQString(node.file)) << ',' << node.line << ','
         << CsvField(ToQString(node.module)) << ',' << cost.before.bytes << ',' << cost.after.bytes
         << ',' << cost.change() << ',' << cost.before.blocks << ',' << cost.after.blocks << '\n';
  }
}

}  // namespace memprof::viewer
