// The palette: any view, call site, tensor, step, command … by a few letters of its name.
#include "viewer/window/palette.h"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QSettings>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/models/recent.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/window/main_window.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

constexpr std::size_t kMostFound = 60, kMostOfAKind = 12, kMostUnasked = 5;
constexpr int kRowsSeen = 12, kMostLetters = 100;

// In the order of PaletteKind.
const char* const kTags[] = {"view",   "call site", "step",    "tensor",    "category",
                             "device", "process",   "command", "recent log"};

class PaletteDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
    return {200, option.fontMetrics.height() + kSpace};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const Theme theme = Theme::From(option.palette);
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    const QPalette& palette = option.palette;
    if (chosen) painter->fillRect(option.rect, palette.highlight());
    const QColor text = chosen ? palette.highlightedText().color() : theme.text;
    const QColor faint = chosen ? text : theme.muted;
    QRectF row = QRectF(option.rect).adjusted(kSpace, 0, -kSpace, 0);
    painter->setFont(option.font);
    painter->setPen(faint);
    const double tags = TextWidth(option.font, tr("recent log")) + 2 * kSpace;
    painter->drawText(row, Qt::AlignLeft | Qt::AlignVCenter,
                      index.data(PaletteModel::kTagRole).toString());
    row.setLeft(row.left() + tags);
    const QString detail = index.data(PaletteModel::kDetailRole).toString();
    const double wide = std::min(TextWidth(option.font, detail), row.width() / 2);
    DrawElided(*painter, QRectF(row.right() - wide - 1, row.top(), wide + 1, row.height()),
               Qt::AlignRight | Qt::AlignVCenter, detail);
    row.setRight(row.right() - wide - 2 * kSpace);
    painter->setPen(text);
    PaintMarked(painter, row, option.font, index.data().toString(),
                index.data(PaletteModel::kQueryRole).toString());
  }

 private:
  // The text, with the letters that match in bold.
  static void PaintMarked(QPainter* painter, QRectF row, const QFont& font, const QString& whole,
                          const QString& query) {
    const QFont strong = StrongFont(font);
    const std::vector<int> marks = PaletteMarks(whole, query);
    // Measured in bold, so that it fits however much of it is bold.
    const QString text = QFontMetricsF(strong).elidedText(whole, Qt::ElideRight, row.width());
    for (int begin = 0; begin < text.size();) {
      const auto bold = [&](int at) { return std::binary_search(marks.begin(), marks.end(), at); };
      int end = begin + 1;
      while (end < text.size() && bold(end) == bold(begin)) ++end;
      const QFont& used = bold(begin) ? strong : font;
      const QString piece = text.mid(begin, end - begin);
      painter->setFont(used);
      painter->drawText(row, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, piece);
      row.setLeft(row.left() + TextWidth(used, piece));
      begin = end;
    }
  }
};

// The actions of menus that can be triggered, without those of the views.
void Collect(const QMenu* menu, std::vector<QAction*>* actions) {
  for (QAction* action : menu->actions()) {
    if (action->menu() != nullptr) {
      Collect(action->menu(), actions);
    } else if (!action->isSeparator() && action->isEnabled()) {
      actions->push_back(action);
    }
  }
}

QString PlainText(const QAction& action) { return action.text().remove(QLatin1Char('&')); }

}  // namespace

void PaletteModel::SetIndex(std::shared_ptr<const PaletteIndex> index) {
  beginResetModel();
  index_ = std::move(index);
  found_.clear();
  endResetModel();
}

void PaletteModel::SetQuery(const QString& query) {
  beginResetModel();
  query_ = query;
  const bool asked = !query.trimmed().isEmpty();
  found_ = index_->Find(query, kMostFound, asked ? kMostOfAKind : kMostUnasked);
  endResetModel();
}

int PaletteModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(found_.size());
}

QVariant PaletteModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const PaletteItem& item = ItemAt(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return item.text;
    case Qt::AccessibleTextRole:
      return tr("%1, %2, %3")
          .arg(tr(kTags[static_cast<std::size_t>(item.kind)]), item.text, item.detail);
    case kTagRole:
      return tr(kTags[static_cast<std::size_t>(item.kind)]);
    case kDetailRole:
      return item.detail;
    case kQueryRole:
      return query_;
    default:
      return {};
  }
}

Palette::Palette(MainWindow* window, bool kept) : QFrame(window), window_(window), kept_(kept) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Window);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kSpace, kSpace, kSpace, kSpace);
  column->setSpacing(kSpace / 2);
  field_ = new QLineEdit(this);
  field_->setPlaceholderText(tr("Go to a view, call site, tensor, step, command …"));
  field_->setAccessibleName(tr("Go to"));
  field_->setMaxLength(kMostLetters);
  list_ = new QListView(this);
  list_->setAccessibleName(tr("What matches"));
  list_->setFrameShape(QFrame::NoFrame);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setUniformItemSizes(true);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setItemDelegate(new PaletteDelegate(list_));
  model_ = new PaletteModel(this);
  list_->setModel(model_);
  note_ = new QLabel(this);
  column->addWidget(field_);
  column->addWidget(list_, 1);
  column->addWidget(note_);
  field_->installEventFilter(this);
  window_->installEventFilter(this);
  connect(field_, &QLineEdit::textChanged, this, &Palette::Search);
  connect(list_, &QListView::clicked, this, &Palette::Take);
  connect(&window_->document(), &Document::StateChanged, this, [this] {
    if (isVisible() && indexed_.lock() != window_->document().session()) BuildIndex();
  });
  hide();
}

void Palette::Open() {
  if (isVisible()) return Close();
  before_ = QApplication::focusWidget();
  field_->clear();
  Place();
  BuildIndex();
  show();
  raise();
  field_->setFocus(Qt::ShortcutFocusReason);
}

void Palette::Close() {
  hide();
  if (before_ != nullptr) before_->setFocus(Qt::OtherFocusReason);
  before_ = nullptr;
}

std::vector<PaletteItem> Palette::ItemsOfWindow() {
  std::vector<PaletteItem> items;
  actions_.clear();
  std::vector<QAction*> actions;
  for (const QAction* top : window_->menuBar()->actions())
    if (top->menu() != nullptr) Collect(top->menu(), &actions);
  const auto views = ViewTable();
  std::vector<QString> keys(views.size());
  for (QAction* action : actions) {
    const QString text = PlainText(*action);
    const QString key = action->shortcut().toString(QKeySequence::NativeText);
    const auto view = std::find_if(views.begin(), views.end(), [&text](const ViewEntry& entry) {
      return text == QString::fromUtf8(entry.title);
    });
    if (view != views.end()) {
      keys[static_cast<std::size_t>(view - views.begin())] = key;
      continue;
    }
    items.push_back({PaletteKind::kCommand, text, key, 0, std::ssize(actions_)});
    actions_.push_back(action);
  }
  if (window_->document().session() != nullptr)
    for (std::size_t i = 0; i < views.size(); ++i)
      items.push_back({PaletteKind::kView, QString::fromUtf8(views[i].title), keys[i], 0,
                       static_cast<std::int64_t>(i)});
  recent_.clear();
  if (kept_) recent_ = QSettings().value(QStringLiteral("recent")).toStringList();
  for (int i = 0; i < recent_.size(); ++i)
    items.push_back({PaletteKind::kRecent, RecentTitle(recent_[i]), {}, 0, i});
  return items;
}

void Palette::BuildIndex() {
  const auto& session = window_->document().session();
  if (indexed_.lock() != session) log_names_.reset();
  std::vector<PaletteItem> own = ItemsOfWindow();
  model_->SetIndex(std::make_shared<const PaletteIndex>(own));
  Search();
  if (session == nullptr) return;
  note_->setText(log_names_ == nullptr ? tr("Reading the names of the log …") : QString());
  using Names = std::shared_ptr<const PaletteNames>;
  job_.Start(
      [own = std::move(own), session, symbols = window_->document().symbols(),
       names = log_names_](std::stop_token stop) {
        const Names of_log =
            names != nullptr
                ? names
                : std::make_shared<const PaletteNames>(PaletteNamesOf(*session, *symbols, stop));
        std::vector<PaletteItem> all = own;
        all.insert(all.end(), of_log->items.begin(), of_log->items.end());
        return std::pair(of_log, std::make_shared<const PaletteIndex>(std::move(all)));
      },
      [this, of = std::weak_ptr(session)](auto made) {
        log_names_ = std::move(made.first);
        indexed_ = of;
        if (window_->document().session() != of.lock()) return;  // another log was opened
        model_->SetIndex(std::move(made.second));
        Search();
      });
}

void Palette::Place() {
  const int width = std::min(760, window_->width() - 4 * kSpace);
  const int row = list_->fontMetrics().height() + kSpace;
  const int rest = field_->sizeHint().height() + note_->sizeHint().height() + 4 * kSpace;
  const int top = window_->menuBar()->geometry().bottom() + 3 * kSpace;
  const int height = std::min(kRowsSeen * row + rest, window_->height() - top - kSpace);
  setGeometry((window_->width() - width) / 2, top, width, height);
}

void Palette::Search() {
  model_->SetQuery(field_->text());
  const int rows = model_->rowCount();
  if (rows > 0) list_->setCurrentIndex(model_->index(0, 0));
  const bool reads = window_->document().session() != nullptr && log_names_ == nullptr;
  QString note = reads       ? tr("Reading the names of the log …")
                 : rows == 0 ? tr("Nothing has this name.")
                             : tr("↑ ↓ choose, Enter goes there, Esc closes");
  if (!reads && log_names_ != nullptr && log_names_->left_out > 0)
    note += tr(" · %1 smaller names and earlier steps are not searched")
                .arg(FormatCount(log_names_->left_out));
  note_->setText(note);
}

bool Palette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == window_ && event->type() == QEvent::Resize && isVisible()) Place();
  if (watched != field_ || !isVisible()) return QFrame::eventFilter(watched, event);
  if (event->type() == QEvent::FocusOut) {
    const auto reason = static_cast<QFocusEvent*>(event)->reason();
    if (reason != Qt::ActiveWindowFocusReason && reason != Qt::PopupFocusReason) {
      before_ = nullptr;  // something else was clicked, and has the focus
      hide();
    }
  }
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress)
    return QFrame::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  constexpr int kOwn[] = {Qt::Key_Up,     Qt::Key_Down,  Qt::Key_PageUp, Qt::Key_PageDown,
                          Qt::Key_Return, Qt::Key_Enter, Qt::Key_Escape};
  if (std::find(std::begin(kOwn), std::end(kOwn), key->key()) == std::end(kOwn))
    return QFrame::eventFilter(watched, event);
  event->accept();
  if (event->type() == QEvent::KeyPress) Pressed(key->key());
  return true;
}

void Palette::Pressed(int key) {
  const int last = model_->rowCount() - 1;
  const int page = key == Qt::Key_PageUp || key == Qt::Key_PageDown ? kRowsSeen - 2 : 1;
  const int row = list_->currentIndex().row();
  if (key == Qt::Key_Escape) {
    Close();
  } else if (key == Qt::Key_Return || key == Qt::Key_Enter) {
    Take(list_->currentIndex());
  } else if (last >= 0) {
    const bool up = key == Qt::Key_Up || key == Qt::Key_PageUp;
    list_->setCurrentIndex(model_->index(std::clamp(up ? row - page : row + page, 0, last), 0));
  }
}

void Palette::Take(const QModelIndex& index) {
  if (!index.isValid()) return;
  const PaletteItem item = model_->ItemAt(index.row());
  Close();
  Go(item);
}

void Palette::Go(const PaletteItem& item) {
  Selection& selection = window_->selection();
  const auto& session = window_->document().session();
  const auto at = static_cast<std::size_t>(item.target);
  analysis::AllocationFilter filter = selection.filter();
  switch (item.kind) {
    case PaletteKind::kView:
      return window_->ShowView(ViewTable()[at].kind);
    case PaletteKind::kSite:
      return GoToSite(analysis::StackId(static_cast<std::uint32_t>(item.target)));
    case PaletteKind::kStep: {
      const analysis::StepInfo& step = session->steps()[at];
      return selection.SetInstant(step.begin + (step.end - step.begin) / 2);
    }
    case PaletteKind::kTensor: {
      const analysis::AllocationId id(static_cast<std::uint32_t>(item.target));
      selection.SelectAllocation(id, session->record(id).stack);
      return window_->ShowView(ViewKind::kTensors);
    }
    case PaletteKind::kCategory:
      filter.category = static_cast<analysis::Category>(item.target);
      return selection.SetFilter(filter);
    case PaletteKind::kProcess:
      filter.process = static_cast<std::uint32_t>(item.target);
      return selection.SetFilter(filter);
    case PaletteKind::kDevice:
      return selection.SetDevice(static_cast<int>(item.target));
    case PaletteKind::kCommand:
      return actions_[at]->trigger();
    case PaletteKind::kRecent:
      return window_->OpenTogether(PathsOfRecent(recent_[static_cast<qsizetype>(at)]));
  }
}

// The view stays if it shows which site is selected.
void Palette::GoToSite(analysis::StackId site) {
  window_->selection().SelectSite(site);
  constexpr ViewKind kShow[] = {ViewKind::kAllocations, ViewKind::kMap, ViewKind::kFlame,
                                ViewKind::kDiff};
  if (std::find(std::begin(kShow), std::end(kShow), window_->view()) == std::end(kShow))
    window_->ShowView(ViewKind::kFlame);
}

}  // namespace memprof::viewer
